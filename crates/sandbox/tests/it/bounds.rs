//! What bounds a command: time, memory, processes, disk, output, and the word to stop.

use std::sync::Arc;
use std::time::Duration;

use kiln_sandbox::{
    CancelToken, ChamberSpec, Error, Limits, Missing, Outcome, OutputSink, Stream, Transcript,
};

use crate::support::{
    HostClock, limits, output_of, run, run_by_clock, run_into, shell, spec, try_run,
};

/// Cancels as soon as the command has said something, and keeps what it said.
struct CancelAtOutput {
    cancel: CancelToken,
    seen: Vec<u8>,
}

impl OutputSink for CancelAtOutput {
    fn output(&mut self, _: Stream, bytes: &[u8]) {
        self.seen.extend_from_slice(bytes);
        self.cancel.cancel();
    }
}

fn cancel_at_output(script: &str, limits: &Limits) -> (Outcome, Vec<u8>) {
    let cancel = CancelToken::new().unwrap();
    let mut sink = CancelAtOutput {
        cancel: cancel.clone(),
        seen: Vec::new(),
    };
    let exit = run_into(&mut sink, &shell(script), &spec(), limits, &cancel).unwrap();
    (exit.outcome, sink.seen)
}

/// Lets an hour pass as soon as the command has said something on standard output, and keeps what it said there.
struct TimeFliesAtOutput {
    clock: Arc<HostClock>,
    seen: Vec<u8>,
}

impl OutputSink for TimeFliesAtOutput {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        if stream == Stream::Stderr {
            return;
        }
        if self.seen.is_empty() {
            self.clock.jump(HOUR);
        }
        self.seen.extend_from_slice(bytes);
    }
}

const HOUR: Duration = Duration::from_hours(1);

fn time_out_at_output(script: &str, grace: Duration) -> (Outcome, Vec<u8>) {
    let clock = HostClock::new();
    let mut sink = TimeFliesAtOutput {
        clock: clock.clone(),
        seen: Vec::new(),
    };
    let limits = Limits {
        timeout: Some(HOUR),
        grace,
        ..limits()
    };
    let cancel = CancelToken::new().unwrap();
    let exit = run_by_clock(clock, &mut sink, &shell(script), &spec(), &limits, &cancel).unwrap();
    (exit.outcome, sink.seen)
}

#[test]
fn a_fork_bomb_is_bounded() {
    let finished = run(&shell("while :; do sleep 1000 & done"));
    assert!(finished.stderr.contains("can't fork"), "{finished:?}");
}

#[test]
fn a_memory_hog_is_named_as_one() {
    let finished = run(&shell("exec dd if=/dev/zero of=/dev/null bs=300M count=1"));
    assert_eq!(finished.exit.outcome, Outcome::OutOfMemory);
    assert!(finished.exit.usage.oom_kills.unwrap() > 0);
    assert!(finished.exit.usage.peak_memory_bytes.unwrap() > 200 << 20);
}

#[test]
fn a_child_that_hogs_memory_is_named_too() {
    let finished = run(&shell("dd if=/dev/zero of=/dev/null bs=300M count=1"));
    assert_eq!(finished.exit.outcome, Outcome::OutOfMemory);
}

#[test]
fn a_flood_of_output_is_cut_off_and_marked() {
    let limits = Limits {
        stdout_bytes: 1000,
        ..limits()
    };
    let finished = try_run(
        &shell("yes | head -c 5000000; echo end >&2"),
        &spec(),
        &limits,
    )
    .unwrap();
    assert_eq!(finished.stdout.len(), 1000);
    assert_eq!(finished.exit.stdout.bytes, 1000);
    assert_eq!(finished.exit.stdout.dropped, 4_999_000);
    assert_eq!(
        (finished.stderr.as_str(), finished.exit.stderr.truncated()),
        ("end\n", false)
    );
    assert_eq!(finished.exit.outcome, Outcome::Exited(0));
}

#[test]
fn a_full_disk_is_an_error_for_the_command_and_not_for_the_host() {
    let finished = run(&shell(
        "dd if=/dev/zero of=/fill bs=1M count=64; stat -c %s /fill",
    ));
    assert!(finished.stderr.contains("No space left"), "{finished:?}");
    let size: u64 = finished.stdout.trim().parse().unwrap();
    // And what the chamber itself did not need.
    assert!(size <= (16 << 20) + (1 << 19), "{size}");
}

#[test]
fn a_disk_full_of_empty_files_is_bounded_too() {
    let finished = run(&shell(
        "cd /tmp; i=0; while touch $i; do i=$((i+1)); done; echo $i",
    ));
    assert!(finished.stderr.contains("No space left"), "{finished:?}");
}

#[test]
fn cpu_time_is_bounded() {
    let script =
        "spin() { i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; }; spin & spin & wait";
    let exit = run(&shell(script)).exit;
    assert!(exit.usage.throttled.is_some(), "{exit:?}");
    let used = exit.usage.user + exit.usage.system;
    // One CPU for two spinning processes: they cannot use much more time than passed. A tenth of a second is the period
    // in which the kernel hands out shares.
    assert!(
        used <= exit.usage.elapsed + Duration::from_millis(200),
        "{exit:?}"
    );
}

#[test]
fn a_timeout_keeps_what_was_written() {
    let (outcome, seen) = time_out_at_output(
        "echo before; sleep 1000; echo after",
        Duration::from_mins(1),
    );
    assert_eq!(
        (outcome, seen.as_slice()),
        (Outcome::TimedOut, b"before\n".as_slice())
    );
}

#[test]
fn a_command_is_asked_before_it_is_forced() {
    let script = "trap 'echo asked; exit 3' TERM; echo up; while :; do sleep 0.01; done";
    let (outcome, seen) = time_out_at_output(script, Duration::from_mins(1));
    assert_eq!(
        (outcome, seen.as_slice()),
        (Outcome::TimedOut, b"up\nasked\n".as_slice())
    );
}

#[test]
fn a_command_that_does_not_listen_is_forced() {
    let script = "trap '' TERM; echo up; while :; do sleep 0.01; done";
    let (outcome, _) = time_out_at_output(script, Duration::from_millis(50));
    assert_eq!(outcome, Outcome::TimedOut);
}

#[test]
fn a_cancel_ends_the_command_and_keeps_what_was_written() {
    let (outcome, seen) = cancel_at_output("echo before; sleep 1000", &limits());
    assert_eq!(outcome, Outcome::Canceled);
    assert_eq!(seen, b"before\n");
}

#[test]
fn a_cancel_of_a_deaf_command_takes_no_longer_than_its_grace() {
    let limits = Limits {
        timeout: None,
        grace: Duration::ZERO,
        ..limits()
    };
    let (outcome, _) = cancel_at_output("trap '' TERM; echo up; while :; do :; done", &limits);
    assert_eq!(outcome, Outcome::Canceled);
}

#[test]
fn a_cancel_before_the_start_runs_nothing() {
    let cancel = CancelToken::new().unwrap();
    cancel.cancel();
    let mut transcript = Transcript::default();
    let exit = run_into(
        &mut transcript,
        &shell("echo ran"),
        &spec(),
        &limits(),
        &cancel,
    )
    .unwrap();
    assert_eq!(exit.outcome, Outcome::Canceled);
}

#[test]
fn a_background_process_does_not_keep_the_run_alive() {
    assert_eq!(output_of("sleep 1000 & echo done"), "done\n");
}

#[test]
fn orphans_are_reaped_while_the_command_runs() {
    let script = "i=0; while [ $i -lt 200 ]; do (setsid true &); i=$((i+1)); done; echo done";
    let finished = try_run(
        &shell(script),
        &ChamberSpec {
            processes: 32,
            ..spec()
        },
        &limits(),
    )
    .unwrap();
    assert_eq!(finished.stdout, "done\n", "{finished:?}");
}

#[test]
fn what_an_orphan_wrote_before_the_end_is_kept() {
    assert_eq!(
        output_of(
            "(setsid sh -c 'echo from afar; echo x > /tmp/done' &); until [ -e /tmp/done ]; do :; done"
        ),
        "from afar\n"
    );
}

#[test]
fn a_network_is_refused_and_not_quietly_left_out() {
    let error = try_run(
        &shell("true"),
        &ChamberSpec {
            network: true,
            ..spec()
        },
        &limits(),
    )
    .unwrap_err();
    assert!(matches!(error, Error::Spec { .. }), "{error:?}");
}

#[test]
fn limits_that_work_are_reported_even_when_missing_ones_would_be_accepted() {
    let spec = ChamberSpec {
        missing_limits: Missing::Accept,
        ..spec()
    };
    let sealed = try_run(&shell("true"), &spec, &limits())
        .unwrap()
        .exit
        .sealed;
    assert!(sealed.layer("memory").unwrap().applied);
}

#[test]
fn a_command_that_fails_on_a_full_disk_is_called_so() {
    let finished = run(&shell("exec dd if=/dev/zero of=/fill bs=1M count=64"));
    assert_eq!(finished.exit.outcome, Outcome::DiskFull(1), "{finished:?}");
}

#[test]
fn a_command_that_tidied_its_full_disk_after_complaining_is_called_so() {
    // More than a pipe holds, so that some of it was read before the file goes.
    let finished = run(&shell(
        "dd if=/dev/zero of=/fill bs=1M count=64 2>/dev/null; yes | head -c 200000 >&2; rm /fill; exit 1",
    ));
    assert_eq!(finished.exit.outcome, Outcome::DiskFull(1), "{finished:?}");
}

#[test]
fn a_disk_that_only_a_process_left_behind_keeps_full_is_called_so() {
    let finished = run(&shell(
        "exec 3>/fill; rm /fill; dd if=/dev/zero bs=1M count=64 2>/dev/null >&3; sleep 1000 & exit 1",
    ));
    assert_eq!(finished.exit.outcome, Outcome::DiskFull(1), "{finished:?}");
}

#[test]
fn a_run_tells_what_went_on_around_it_and_what_it_used_over_time() {
    tells_what_went_on();
}

/// Wherever it runs, with control groups and without.
pub(crate) fn tells_what_went_on() {
    struct SixSecondsAtOutput(Arc<HostClock>);
    impl OutputSink for SixSecondsAtOutput {
        fn output(&mut self, _: Stream, _: &[u8]) {
            self.0.jump(Duration::from_secs(59));
        }
    }
    let clock = HostClock::new();
    let mut sink = SixSecondsAtOutput(clock.clone());
    // It outlives the sample, which comes with the jump, and not its timeout.
    let script = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo one; sleep 1000");
    let limits = Limits {
        timeout: Some(Duration::from_mins(1)),
        ..limits()
    };
    let cancel = CancelToken::new().unwrap();
    let exit = run_by_clock(clock, &mut sink, &script, &spec(), &limits, &cancel).unwrap();
    let samples = &exit.usage.cpu_samples;
    assert!(!samples.is_empty(), "{exit:?}");
    assert!(
        samples.iter().all(|sample| sample.cpu_us > 0),
        "{samples:?}"
    );
    assert!(exit.usage.steal.is_some(), "{exit:?}");
}

#[test]
fn a_chamber_stays_on_the_cores_it_is_given() {
    let spec = ChamberSpec {
        cores: vec![1],
        ..spec()
    };
    let script = "grep Cpus_allowed_list /proc/self/status";
    let finished = try_run(&shell(script), &spec, &limits()).unwrap();
    assert_eq!(finished.stdout, "Cpus_allowed_list:\t1\n");
}
