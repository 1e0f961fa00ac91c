//! One list of what a command may expect, run on every back end this host has. Nothing here knows which one it is.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use kiln_sandbox::{
    CancelToken, ChamberSpec, Command, Error, FAR_AHEAD, FileOutcome, Limits, Outcome, OutputSink,
    Stream,
};

use crate::distroless::{PROGRAM, dynamic_base, static_base};
use crate::place::Place;
use crate::support::{HostClock, limits, shell, spec};

/// Declares each case once, as a test of every back end that it is meant for.
///
/// - `sealed` cases are about walls, which `process` has not;
/// - `bounded` cases need a kernel of the machine's own, which Firecracker's double has not.
macro_rules! black_box {
    (plain: $($plain:ident)*; sealed: $($sealed:ident)*; bounded: $($bounded:ident)*;) => {
        mod namespace {
            black_box!(@on namespace: $($plain)* $($sealed)* $($bounded)*);
        }
        mod qemu {
            black_box!(@on qemu: $($plain)* $($sealed)* $($bounded)*);
        }
        mod firecracker_double {
            black_box!(@on firecracker: $($plain)* $($sealed)*);
        }
        mod jailed_firecracker_double {
            black_box!(@on jailed_firecracker: $($plain)* $($sealed)*);
        }
        mod process {
            black_box!(@on process: $($plain)* $($bounded)*);
        }
    };
    (@on $place:ident: $($case:ident)*) => {
        $(#[test] fn $case() { super::$case(&crate::place::$place()); })*
    };
}

black_box! {
    plain:
    echo
    standard_error_is_kept_apart
    the_environment_is_exactly_the_one_given
    the_working_directory_is_made_if_it_is_missing
    the_user_and_its_groups_are_the_ones_given
    exit_codes_come_back
    signals_are_told_apart_from_exit_codes
    a_program_is_found_in_the_path_without_a_shell
    a_missing_program_is_the_commands_fault
    binary_output_survives
    a_flood_of_output_is_cut_off_and_marked
    megabytes_of_output_arrive_whole
    files_come_out
    a_link_to_a_file_is_refused
    a_missing_file_is_missing
    links_and_permissions_hold
    a_timeout_keeps_what_was_written
    a_cancel_keeps_what_was_written
    a_cancel_before_the_start_runs_nothing
    each_run_has_a_fresh_layer
    what_is_made_ahead_is_as_fresh_and_for_anyone
    the_base_cannot_be_changed_for_others
    usage_is_measured
    as_many_cpus_as_the_spec_says;
    sealed:
    a_static_program_needs_nothing_around_it
    a_dynamic_program_needs_only_its_libraries
    there_is_no_network
    a_full_disk_is_the_commands_problem
    the_disk_is_as_large_as_the_spec_says
    two_runs_share_no_random_numbers
    what_is_made_ahead_shares_no_random_numbers
    the_host_name_is_the_chambers
    nobody_is_privileged;
    bounded:
    a_fork_bomb_is_bounded
    the_peak_of_memory_is_told
    a_memory_hog_is_named_as_one;
}

fn echo(place: &Place) {
    assert_eq!(place.output_of("echo hello"), "hello\n");
}

fn standard_error_is_kept_apart(place: &Place) {
    let finished = place.run(&shell("echo out; echo err >&2"));
    assert_eq!(
        (finished.stdout.as_str(), finished.stderr.as_str()),
        ("out\n", "err\n")
    );
}

fn the_environment_is_exactly_the_one_given(place: &Place) {
    let command = Command {
        env: vec![("ONE".into(), "1".into()), ("EMPTY".into(), String::new())],
        ..Command::new(["/bin/env"])
    };
    assert_eq!(place.run(&command).stdout, "ONE=1\nEMPTY=\n");
}

fn the_working_directory_is_made_if_it_is_missing(place: &Place) {
    let command = Command {
        cwd: "/made/for/this".into(),
        ..shell("pwd")
    };
    assert_eq!(place.run(&command).stdout, "/made/for/this\n");
}

fn the_user_and_its_groups_are_the_ones_given(place: &Place) {
    let command = Command {
        uid: 1000,
        gid: 1001,
        groups: vec![4, 20],
        ..shell("id -u; id -g; id -G")
    };
    assert_eq!(place.run(&command).stdout, "1000\n1001\n1001 4 20\n");
}

fn exit_codes_come_back(place: &Place) {
    for code in [0, 1, 255] {
        let outcome = place.run(&shell(&format!("exit {code}"))).exit.outcome;
        assert_eq!(outcome, Outcome::Exited(code));
    }
}

fn signals_are_told_apart_from_exit_codes(place: &Place) {
    let outcome = place.run(&shell("kill -SEGV $$")).exit.outcome;
    assert_eq!(outcome, Outcome::Signaled(11));
}

fn a_program_is_found_in_the_path_without_a_shell(place: &Place) {
    let command = Command {
        env: vec![("PATH".into(), "/nowhere:/bin".into())],
        ..Command::new(["echo", "$HOME", "a b"])
    };
    assert_eq!(place.run(&command).stdout, "$HOME a b\n");
}

fn a_missing_program_is_the_commands_fault(place: &Place) {
    let error = place
        .try_run(&Command::new(["no-such-program"]), &spec(), &limits())
        .unwrap_err();
    assert!(matches!(error, Error::Start { .. }), "{error:?}");
}

fn binary_output_survives(place: &Place) {
    let finished = place.run(&shell(
        "printf '\\000\\001\\377\\n\\r'; head -c 3 /dev/zero",
    ));
    assert_eq!(finished.raw_stdout, b"\x00\x01\xff\n\r\0\0\0");
}

fn a_flood_of_output_is_cut_off_and_marked(place: &Place) {
    let limits = Limits {
        stdout_bytes: 1000,
        ..limits()
    };
    let finished = place
        .try_run(
            &shell("yes | head -c 2000000; echo end >&2"),
            &spec(),
            &limits,
        )
        .unwrap();
    assert_eq!(finished.exit.stdout.bytes, 1000);
    assert_eq!(finished.exit.stdout.dropped, 1_999_000);
    assert_eq!(finished.stderr, "end\n");
    assert_eq!(finished.exit.outcome, Outcome::Exited(0));
}

fn megabytes_of_output_arrive_whole(place: &Place) {
    let finished = place.run(&shell("yes 0123456 | head -c 4000000"));
    assert!(finished.raw_stdout == b"0123456\n".repeat(500_000));
}

fn files_come_out(place: &Place) {
    let file = collect(place, "printf 'a\\000b' > /out", "/out");
    assert_eq!(file, (b"a\0b".to_vec(), FileOutcome::Whole));
}

fn a_link_to_a_file_is_refused(place: &Place) {
    let (bytes, outcome) = collect(place, "ln -s /etc/release /out", "/out");
    assert!(
        matches!(outcome, FileOutcome::Refused { .. }),
        "{outcome:?}"
    );
    assert!(bytes.is_empty());
}

fn a_missing_file_is_missing(place: &Place) {
    assert_eq!(collect(place, "true", "/out").1, FileOutcome::Missing);
}

fn there_is_no_network(place: &Place) {
    let devices = place.output_of("cut -d: -f1 -s /proc/net/dev | tr -d ' '");
    assert_eq!(devices, "lo\n");
    let finished = place.run(&shell("nc -w 1 192.0.2.1 80"));
    assert!(
        finished.stderr.contains("unreachable"),
        "{:?}",
        finished.stderr
    );
}

fn links_and_permissions_hold(place: &Place) {
    let script = "mkdir -m 700 /mine && echo secret > /mine/file && ln -s mine/file /link && cat /link \
                  && ln /mine/file /hard && stat -c '%h %a' /hard && stat -c %a /tmp";
    assert_eq!(place.output_of(script), "secret\n2 644\n1777\n");
    let other = Command {
        uid: 1000,
        gid: 1000,
        ..shell("echo x > /etc/release")
    };
    let finished = place.run(&other);
    assert!(
        finished.stderr.contains("Permission denied"),
        "{finished:?}"
    );
}

fn a_timeout_keeps_what_was_written(place: &Place) {
    const HOUR: Duration = Duration::from_hours(1);
    struct TimeFlies<'a>(&'a HostClock, Vec<u8>);
    impl OutputSink for TimeFlies<'_> {
        fn output(&mut self, _: Stream, bytes: &[u8]) {
            if self.1.is_empty() {
                self.0.jump(HOUR);
            }
            self.1.extend_from_slice(bytes);
        }
    }
    let place = place.with_its_own_clock();
    let limits = Limits {
        timeout: Some(HOUR),
        grace: Duration::from_mins(1),
        ..limits()
    };
    let mut sink = TimeFlies(&place.clock, Vec::new());
    let script = shell("echo before; sleep 1000; echo after");
    let exit = place
        .run_into(&mut sink, &script, &spec(), &limits, &token())
        .unwrap();
    assert_eq!(exit.outcome, Outcome::TimedOut);
    assert_eq!(sink.1, b"before\n");
}

fn a_cancel_keeps_what_was_written(place: &Place) {
    struct CancelAtOutput(CancelToken, Vec<u8>);
    impl OutputSink for CancelAtOutput {
        fn output(&mut self, _: Stream, bytes: &[u8]) {
            self.1.extend_from_slice(bytes);
            self.0.cancel();
        }
    }
    let cancel = token();
    let mut sink = CancelAtOutput(cancel.clone(), Vec::new());
    let exit = place
        .run_into(
            &mut sink,
            &shell("echo before; sleep 1000"),
            &spec(),
            &limits(),
            &cancel,
        )
        .unwrap();
    assert_eq!(exit.outcome, Outcome::Canceled);
    assert_eq!(sink.1, b"before\n");
}

fn a_cancel_before_the_start_runs_nothing(place: &Place) {
    struct Nothing;
    impl OutputSink for Nothing {
        fn output(&mut self, _: Stream, bytes: &[u8]) {
            panic!("it ran and said {bytes:?}");
        }
    }
    let cancel = token();
    cancel.cancel();
    let exit = place
        .run_into(
            &mut Nothing,
            &shell("echo ran"),
            &spec(),
            &limits(),
            &cancel,
        )
        .unwrap();
    assert_eq!(exit.outcome, Outcome::Canceled);
}

fn a_fork_bomb_is_bounded(place: &Place) {
    let finished = place.run(&shell("while :; do sleep 1000 & done"));
    assert!(finished.stderr.contains("can't fork"), "{finished:?}");
}

fn the_peak_of_memory_is_told(place: &Place) {
    let finished = place.run(&shell("dd if=/dev/zero of=/dev/null bs=20M count=1"));
    let peak = finished.exit.usage.peak_memory_bytes.unwrap();
    assert!((20 << 20..=spec().memory_bytes).contains(&peak), "{peak}");
}

fn a_memory_hog_is_named_as_one(place: &Place) {
    let finished = place.run(&shell("exec dd if=/dev/zero of=/dev/null bs=300M count=1"));
    assert_eq!(finished.exit.outcome, Outcome::OutOfMemory, "{finished:?}");
    assert!(finished.exit.usage.oom_kills.unwrap() > 0);
}

fn a_full_disk_is_the_commands_problem(place: &Place) {
    let finished = place.run(&shell(
        "dd if=/dev/zero of=/fill bs=1M count=64; echo still here",
    ));
    assert!(finished.stderr.contains("No space left"), "{finished:?}");
    assert_eq!(finished.stdout, "still here\n");
}

fn the_disk_is_as_large_as_the_spec_says(place: &Place) {
    let size: u64 = place
        .output_of("dd if=/dev/zero of=/fill bs=64k 2>/dev/null; stat -c %s /fill")
        .trim()
        .parse()
        .unwrap();
    let asked = spec().disk_bytes;
    // A file system takes a little for itself, and a machine's disk has some room for that.
    assert!(size >= asked - (1 << 20), "{size}");
    assert!(size <= asked + (8 << 20), "{size}");
}

fn each_run_has_a_fresh_layer(place: &Place) {
    let mut chamber = place.prepare(&spec());
    for _ in 0..2 {
        let finished = Place::run_in(&mut *chamber, &shell("ls /; echo mark > /left-behind"));
        assert!(!finished.stdout.contains("left-behind"), "{finished:?}");
    }
    chamber.destroy().unwrap();
}

fn what_is_made_ahead_is_as_fresh_and_for_anyone(place: &Place) {
    let mut chamber = place.prepare(&spec());
    chamber.expect(FAR_AHEAD);
    for uid in [0, 1000, 1000, 0] {
        let command = Command {
            uid,
            ..shell("id -u; ls /tmp; echo mark > /tmp/left-behind")
        };
        let finished = Place::run_in(&mut *chamber, &command);
        assert_eq!(finished.stdout, format!("{uid}\n"), "{finished:?}");
    }
    chamber.destroy().unwrap();
}

fn two_runs_share_no_random_numbers(place: &Place) {
    assert_ne!(
        place.output_of(RANDOM_NUMBERS),
        place.output_of(RANDOM_NUMBERS)
    );
}

fn what_is_made_ahead_shares_no_random_numbers(place: &Place) {
    let mut chamber = place.prepare(&spec());
    chamber.expect(FAR_AHEAD);
    let mut numbers = BTreeSet::new();
    for _ in 0..3 {
        let finished = Place::run_in(&mut *chamber, &shell(RANDOM_NUMBERS));
        assert!(numbers.insert(finished.stdout), "{numbers:?}");
    }
    chamber.destroy().unwrap();
}

const RANDOM_NUMBERS: &str =
    "head -c 32 /dev/urandom | /bin/busybox md5sum; cat /proc/sys/kernel/random/uuid";

fn the_host_name_is_the_chambers(place: &Place) {
    assert_eq!(place.output_of("hostname"), "kiln\n");
}

fn the_base_cannot_be_changed_for_others(place: &Place) {
    place.output_of("echo changed > /etc/release; rm /bin/yes");
    assert_eq!(
        place.output_of("cat /etc/release; ls /bin/yes"),
        "base\n/bin/yes\n"
    );
}

fn nobody_is_privileged(place: &Place) {
    let finished = place.run(&shell(
        "grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status | tr -s '\\t ' ' '; mknod /null c 1 3",
    ));
    assert_eq!(
        finished.stdout,
        "CapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n"
    );
    assert!(finished.stderr.contains("mknod: /null"), "{finished:?}");
}

fn usage_is_measured(place: &Place) {
    let exit = place
        .run(&shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"))
        .exit;
    assert!(!(exit.usage.user + exit.usage.system).is_zero(), "{exit:?}");
    assert!(exit.usage.peak_resident_bytes > 0, "{exit:?}");
    assert!(!exit.usage.elapsed.is_zero(), "{exit:?}");
}

fn as_many_cpus_as_the_spec_says(place: &Place) {
    let spec = ChamberSpec { cpus: 2, ..spec() };
    let finished = place
        .try_run(&shell("/bin/busybox nproc"), &spec, &limits())
        .unwrap();
    let seen: usize = finished.stdout.trim().parse().unwrap();
    assert!(seen >= 2, "{finished:?}");
}

fn a_static_program_needs_nothing_around_it(place: &Place) {
    alone(place, static_base(), "static\n");
}

fn a_dynamic_program_needs_only_its_libraries(place: &Place) {
    alone(place, dynamic_base(), "dynamic\n");
}

/// Runs a base's only program, without a shell or a path.
fn alone(place: &Place, base: &Path, expected: &str) {
    let command = Command {
        files: vec!["/out".to_owned()],
        ..Command::new([PROGRAM, "a b"])
    };
    let finished = place.run_over(base, &command);
    assert_eq!(finished.stdout, expected, "{finished:?}");
    assert_eq!(finished.exit.files[0].bytes, b"a b");
}

fn collect(place: &Place, script: &str, path: &str) -> (Vec<u8>, FileOutcome) {
    let command = Command {
        files: vec![path.to_owned()],
        ..shell(script)
    };
    let mut files = place.run(&command).exit.files;
    assert_eq!(files.len(), 1);
    let file = files.remove(0);
    (file.bytes, file.outcome)
}

fn token() -> CancelToken {
    CancelToken::new().unwrap()
}
