//! What a command writes goes to a disk of the spec's size, and not to its memory.

use kiln_sandbox::{
    Backend as _, CancelToken, Chamber, ChamberSpec, Command, Exit, FAR_AHEAD, Namespaces, Outcome,
    Rootfs, Transcript,
};

use crate::base::base;
use crate::support::{Finished, HostClock, disks, disks_in, limits, shell, spec, try_run};

const MIB: u64 = 1 << 20;

/// More disk than memory, by far.
fn wide() -> ChamberSpec {
    ChamberSpec {
        memory_bytes: 64 * MIB,
        disk_bytes: 256 * MIB,
        ..spec()
    }
}

fn chamber(spec: &ChamberSpec) -> Box<dyn Chamber> {
    Namespaces::new(HostClock::new(), disks())
        .prepare(&Rootfs::directory(base()), spec)
        .unwrap()
}

fn run_in(chamber: &mut dyn Chamber, command: &Command) -> Finished {
    let mut transcript = Transcript::default();
    let cancel = CancelToken::new().unwrap();
    let exit = chamber
        .run(command, &limits(), &mut transcript, &cancel)
        .unwrap();
    Finished {
        exit,
        stdout: String::from_utf8(transcript.stdout).unwrap(),
        stderr: String::from_utf8(transcript.stderr).unwrap(),
    }
}

fn disk_layer(exit: &Exit) -> (bool, &str) {
    let layer = exit.sealed.layer("disk").unwrap();
    (layer.applied, &layer.detail)
}

/// Writes until there is no more room, and says how many bytes that were.
const FILL: &str = "dd if=/dev/zero of=/fill bs=64k 2>/dev/null; stat -c %s /fill; exit 1";

fn filled_bytes(finished: &Finished) -> u64 {
    assert_eq!(finished.exit.outcome, Outcome::DiskFull(1), "{finished:?}");
    finished.stdout.trim().parse().unwrap()
}

#[test]
fn more_can_be_written_than_fits_into_memory() {
    let script = "dd if=/dev/zero of=/big bs=1M count=200 2>/dev/null && stat -c %s /big";
    let finished = try_run(&shell(script), &wide(), &limits()).unwrap();
    assert_eq!(finished.exit.outcome, Outcome::Exited(0), "{finished:?}");
    assert_eq!(finished.stdout, "209715200\n");
    assert_eq!(finished.exit.usage.oom_kills, Some(0));
    let (applied, detail) = disk_layer(&finished.exit);
    assert!(applied, "{detail}");
    assert!(detail.contains("268435456 bytes"), "{detail}");
}

#[test]
fn a_disk_is_as_large_as_the_spec_says_and_then_full() {
    for bytes in [MIB, 16 * MIB, 300 * MIB] {
        let spec = ChamberSpec {
            disk_bytes: bytes,
            ..spec()
        };
        let written = filled_bytes(&try_run(&shell(FILL), &spec, &limits()).unwrap());
        assert!(written >= bytes, "{written} of {bytes}");
        assert!(written <= bytes + MIB / 2, "{written} of {bytes}");
    }
}

#[test]
fn each_run_finds_the_disk_empty_and_whole() {
    let mut chamber = chamber(&spec());
    chamber.expect(FAR_AHEAD);
    let script = "ls /fill /tmp/deep 2>/dev/null; mkdir -p /tmp/deep/er; ln -s / /tmp/deep/link";
    let fill = shell(&format!("{script}; {FILL}"));
    let first = filled_bytes(&run_in(&mut *chamber, &fill));
    for _ in 0..4 {
        assert_eq!(filled_bytes(&run_in(&mut *chamber, &fill)), first);
    }
}

#[test]
fn a_disk_that_has_grown_is_replaced_between_runs() {
    let mut chamber = chamber(&wide());
    chamber.expect(FAR_AHEAD);
    let fill = shell(FILL);
    let first = filled_bytes(&run_in(&mut *chamber, &fill));
    assert_eq!(filled_bytes(&run_in(&mut *chamber, &fill)), first);
    assert_eq!(
        run_in(&mut *chamber, &shell("ls /fill")).exit.code(),
        Some(1)
    );
}

#[test]
fn more_files_than_are_removed_one_by_one_are_gone_for_the_next_run_too() {
    let spec = ChamberSpec {
        disk_bytes: 128 * MIB,
        ..spec()
    };
    let mut chamber = chamber(&spec);
    chamber.expect(FAR_AHEAD);
    let many = "mkdir /many; cd /many; seq 6000 | xargs touch && ls | wc -l";
    for _ in 0..2 {
        assert_eq!(run_in(&mut *chamber, &shell(many)).stdout, "6000\n");
    }
    let deep =
        "cd /tmp; i=0; while [ $i -lt 100 ]; do mkdir d && cd d; i=$((i+1)); done; pwd | wc -c";
    for _ in 0..2 {
        assert_eq!(run_in(&mut *chamber, &shell(deep)).stdout, "205\n");
    }
    assert_eq!(
        run_in(&mut *chamber, &shell("ls /many /tmp/d")).exit.code(),
        Some(1)
    );
}

#[test]
fn a_disk_goes_on_to_the_next_job_with_nothing_on_it() {
    let place = tempfile::tempdir_in(disks()).unwrap();
    let backend = Namespaces::new(HostClock::new(), place.path());
    let mut first = None;
    for _ in 0..3 {
        let mut chamber = backend
            .prepare(&Rootfs::directory(base()), &spec())
            .unwrap();
        let finished = run_in(
            &mut *chamber,
            &shell(&format!("ls /fill 2>/dev/null; {FILL}")),
        );
        let found = (filled_bytes(&finished), disks_in(place.path()));
        assert_eq!(*first.get_or_insert_with(|| found.clone()), found);
        chamber.destroy().unwrap();
        assert_eq!(disks_in(place.path()), found.1);
    }
    drop(backend);
    assert_eq!(disks_in(place.path()), Vec::<String>::new());
}

#[test]
fn a_disk_that_has_grown_is_not_kept() {
    let place = tempfile::tempdir_in(disks()).unwrap();
    let backend = Namespaces::new(HostClock::new(), place.path());
    let mut chamber = backend
        .prepare(&Rootfs::directory(base()), &wide())
        .unwrap();
    filled_bytes(&run_in(&mut *chamber, &shell(FILL)));
    let before = disks_in(place.path());
    assert_eq!(before.len(), 1);
    run_in(&mut *chamber, &shell("true"));
    let after = disks_in(place.path());
    assert_eq!(after.len(), 1);
    assert_ne!(before, after);
    filled_bytes(&run_in(&mut *chamber, &shell(FILL)));
    chamber.destroy().unwrap();
    assert_eq!(disks_in(place.path()), Vec::<String>::new());
}

#[test]
fn few_disks_are_kept() {
    let place = tempfile::tempdir_in(disks()).unwrap();
    let backend = Namespaces::new(HostClock::new(), place.path());
    let chambers: Vec<_> = (1..=4)
        .map(|factor| ChamberSpec {
            disk_bytes: factor * MIB,
            ..spec()
        })
        .map(|spec| backend.prepare(&Rootfs::directory(base()), &spec).unwrap())
        .collect();
    assert_eq!(disks_in(place.path()).len(), 4);
    for chamber in chambers {
        chamber.destroy().unwrap();
    }
    assert_eq!(disks_in(place.path()).len(), 2);
}

#[test]
fn a_disk_in_memory_is_none() {
    // No host has this on a disk.
    let backend = Namespaces::new(HostClock::new(), "/dev/shm");
    let mut chamber = backend
        .prepare(&Rootfs::directory(base()), &spec())
        .unwrap();
    let finished = run_in(&mut *chamber, &shell("true"));
    let (applied, detail) = disk_layer(&finished.exit);
    assert!(!applied, "{detail}");
    assert!(detail.contains("/dev/shm is in memory"), "{detail}");
}

#[test]
fn without_a_place_for_disks_there_is_memory_and_it_is_said() {
    let place = tempfile::tempdir_in(disks()).unwrap();
    let backend = Namespaces::new(HostClock::new(), place.path().join("missing"));
    let mut chamber = backend
        .prepare(&Rootfs::directory(base()), &spec())
        .unwrap();
    let finished = run_in(&mut *chamber, &shell("echo x > /file && cat /file"));
    assert_eq!(finished.stdout, "x\n");
    let (applied, detail) = disk_layer(&finished.exit);
    assert!(!applied, "{detail}");
    assert!(
        detail.contains("count against the memory limit"),
        "{detail}"
    );
    assert!(detail.contains("missing"), "{detail}");
}

#[test]
fn what_an_overlay_needs_of_its_disk_is_there() {
    // Whiteouts, directories that hide others, copies, and links of what was below.
    let script = "rm /bin/cat && rm -r /etc && mkdir /etc && ls -A /etc && ! ls /bin/cat 2>/dev/null \
         && mv /bin /moved && /moved/ls /moved/sh";
    let finished = try_run(&shell(script), &spec(), &limits()).unwrap();
    assert_eq!(finished.stdout, "/moved/sh\n", "{finished:?}");
}
