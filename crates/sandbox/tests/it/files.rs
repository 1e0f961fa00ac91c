//! Bringing files out of a chamber.

use kiln_sandbox::{CollectedFile, Command, FileLimit, FileOutcome, Limits};

use crate::support::{limits, shell, spec, try_run};

/// Runs a script and collects one file.
fn collect(script: &str, path: &str) -> CollectedFile {
    let command = Command {
        files: vec![path.to_owned()],
        ..shell(script)
    };
    let limits = Limits {
        files: FileLimit {
            bytes: 100_000,
            total_bytes: 100_000,
            count: 1,
        },
        ..limits()
    };
    let mut files = try_run(&command, &spec(), &limits).unwrap().exit.files;
    assert_eq!(files.len(), 1);
    files.remove(0)
}

fn assert_refused(script: &str, path: &str) {
    let file = collect(script, path);
    assert!(
        matches!(file.outcome, FileOutcome::Refused { .. }),
        "{file:?}"
    );
    assert!(file.bytes.is_empty(), "{file:?}");
}

#[test]
fn a_file_comes_out_as_it_was_written() {
    let file = collect("printf 'a\\000b' > /out", "/out");
    assert_eq!(
        (file.bytes.as_slice(), file.outcome),
        (b"a\0b".as_slice(), FileOutcome::Whole)
    );
}

#[test]
fn a_file_of_many_chunks_comes_out_whole() {
    let file = collect("yes 0123456 | head -c 80000 > /out", "/out");
    assert!(
        file.bytes
            == b"0123456
"
            .repeat(10_000)
    );
}

#[test]
fn a_relative_path_starts_at_the_chambers_root() {
    assert_eq!(collect("true", "etc/release").bytes, b"base\n");
}

#[test]
fn a_file_that_only_its_owner_may_read_comes_out() {
    let command = Command {
        uid: 1000,
        gid: 1000,
        files: vec!["/tmp/mine".into()],
        ..shell("umask 077; echo mine > /tmp/mine")
    };
    let finished = try_run(&command, &spec(), &limits()).unwrap();
    assert_eq!(finished.exit.files[0].bytes, b"mine\n");
}

#[test]
fn a_file_beyond_its_limit_is_cut_off_and_marked() {
    let file = collect("head -c 100001 /dev/zero > /out", "/out");
    assert_eq!(file.bytes.len(), 100_000);
    assert_eq!(file.outcome, FileOutcome::Truncated { size: 100_001 });
}

/// Runs a script and collects several files within 90,000 bytes.
fn collect_within_a_budget(script: &str, paths: &[&str]) -> Vec<CollectedFile> {
    let command = Command {
        files: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..shell(script)
    };
    let limits = Limits {
        files: FileLimit {
            bytes: 70_000,
            total_bytes: 90_000,
            count: paths.len(),
        },
        ..limits()
    };
    try_run(&command, &spec(), &limits).unwrap().exit.files
}

#[test]
fn files_that_are_together_beyond_their_limit_are_cut_off_and_marked_the_largest_first() {
    // Sparse, so that they take nothing of the chamber's disk or memory.
    let files = collect_within_a_budget(
        "truncate -s 60000 /one; truncate -s 4294967296 /two; echo small > /three",
        &["/one", "/two", "/none", "/three"],
    );
    let kept: Vec<usize> = files.iter().map(|file| file.bytes.len()).collect();
    assert_eq!(kept, [44_997, 44_997, 0, 6]);
    let outcomes: Vec<FileOutcome> = files.into_iter().map(|file| file.outcome).collect();
    assert_eq!(
        outcomes,
        [
            FileOutcome::Truncated { size: 60_000 },
            FileOutcome::Truncated { size: 1 << 32 },
            FileOutcome::Missing,
            FileOutcome::Whole,
        ]
    );
}

#[test]
fn files_that_fill_their_common_limit_are_whole() {
    let files = collect_within_a_budget(
        "truncate -s 70000 /one; truncate -s 20000 /two",
        &["/one", "/two"],
    );
    let kept = files.iter().map(|file| (file.bytes.len(), &file.outcome));
    let whole = &FileOutcome::Whole;
    assert_eq!(kept.collect::<Vec<_>>(), [(70_000, whole), (20_000, whole)]);
}

#[test]
fn a_missing_file_is_missing() {
    assert_eq!(collect("true", "/out").outcome, FileOutcome::Missing);
}

#[test]
fn a_link_is_refused() {
    assert_refused("ln -s /etc/release /out", "/out");
}

#[test]
fn a_way_through_a_link_stays_inside() {
    let file = collect(
        "mkdir /x; ln -s ../../../../../etc /x/link",
        "/x/link/release",
    );
    assert_eq!(file.bytes, b"base\n", "{file:?}");
}

#[test]
fn a_way_up_stays_inside() {
    assert_eq!(collect("true", "/../../../etc/release").bytes, b"base\n");
}

#[test]
fn what_is_not_a_regular_file_is_refused() {
    assert_refused("mkdir /out", "/out");
    assert_refused("mkfifo /out", "/out");
}

#[test]
fn other_file_systems_are_refused() {
    assert_refused("true", "/proc/version");
    assert_refused("true", "/proc/self/root/etc/release");
    assert_refused("true", "/dev/zero");
}
