//! What remains on the host: nothing.
//!
//! These look at everything a process has left, so each runs in a process of its own.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use kiln_sandbox::{
    Backend as _, CancelToken, Chamber, Command, FAR_AHEAD, Limits, Namespaces, OutputSink, Rootfs,
    Stream, Transcript, sweep,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::base::base;
use crate::support::{DISKS, HostClock, disks, disks_in, limits, run_into, shell, spec};

const ROLE: &str = "KILN_TEST_ROLE";

/// The other half of these tests: does nothing unless one of them starts this program with a role.
#[test]
fn plays_the_role_it_is_given() {
    match std::env::var(ROLE).as_deref() {
        Ok("tidy") => leave_nothing(),
        Ok("victim") => run_until_killed(0),
        Ok("foresighted victim") => run_until_killed(FAR_AHEAD),
        _ => {}
    }
}

#[test]
fn runs_of_every_kind_leave_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let place = tempfile::tempdir_in(disks()).unwrap();
    let output = in_role("tidy")
        .env("TMPDIR", temporary.path())
        .env(DISKS, place.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_killed_host_process_leaves_no_process_and_only_a_group_that_a_sweep_removes() {
    // PID 1, the shell and sleep.
    kill_and_look("victim", 1, 3);
}

#[test]
fn a_chamber_that_is_made_for_a_later_run_ends_with_its_host_too() {
    // The same, and a PID 1 that is held.
    kill_and_look("foresighted victim", 2, 4);
}

fn kill_and_look(role: &str, chambers: usize, least_members: usize) {
    let place = tempfile::tempdir_in(disks()).unwrap();
    let mut host = in_role(role)
        .env(DISKS, place.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    lines
        .find(|line| line.as_ref().unwrap().contains("chamber is up"))
        .expect("the chamber says so")
        .unwrap();
    let groups = groups_of(host.id());
    assert_eq!(names(&groups).len(), chambers, "{groups:?}");
    let members: BTreeSet<i32> = groups.iter().flat_map(|group| members_of(group)).collect();
    assert!(members.len() >= least_members, "there are only {members:?}");
    let watched: Vec<OwnedFd> = members
        .iter()
        .map(|pid| pidfd_open(Pid::from_raw(*pid).unwrap(), PidfdFlags::empty()).unwrap())
        .collect();

    assert_eq!(disks_in(place.path()).len(), 1);

    host.kill().unwrap();
    host.wait().unwrap();

    for process in &watched {
        assert!(ends_soon(process), "a process outlived its host");
    }
    assert_eq!(disks_in(place.path()), Vec::<String>::new());
    sweep().unwrap();
    assert_eq!(groups_of(host.id()), Vec::<PathBuf>::new());
}

/// Runs after which others were expected that never came.
fn make_some_ahead_for_nothing() {
    for (further, made) in [(0, 0), (1, 1), (FAR_AHEAD, 2), (u32::MAX, 2)] {
        let backend = Namespaces::new(HostClock::new(), disks());
        let mut chamber = backend
            .prepare(&Rootfs::directory(base()), &spec())
            .unwrap();
        chamber.expect(further);
        for _ in 0..2 {
            run_true(&mut *chamber);
            let groups = groups_of(std::process::id());
            assert_eq!(names(&groups).len(), made, "{further}: {groups:?}");
        }
        chamber.destroy().unwrap();
    }
}

fn run_true(chamber: &mut dyn Chamber) {
    let cancel = CancelToken::new().unwrap();
    let mut transcript = Transcript::default();
    chamber
        .run(&shell("true"), &limits(), &mut transcript, &cancel)
        .unwrap();
}

/// Runs in a child: every way a run can end, and then a look at what is left.
fn leave_nothing() {
    // The first run puts the guest program into memory, where it stays for the next ones.
    run_into(
        &mut Transcript::default(),
        &shell("true"),
        &spec(),
        &limits(),
        &CancelToken::new().unwrap(),
    )
    .unwrap();
    let before = Remains::look();
    let quick = Limits {
        timeout: Some(std::time::Duration::from_millis(100)),
        ..limits()
    };
    for (script, limits) in [
        ("echo fine", limits()),
        ("exit 3", limits()),
        ("kill -KILL $$", limits()),
        ("sleep 1000 & sleep 1000 & echo left behind", limits()),
        (
            "exec dd if=/dev/zero of=/dev/null bs=300M count=1",
            limits(),
        ),
        ("trap '' TERM; sleep 1000", quick),
    ] {
        run_into(
            &mut Transcript::default(),
            &shell(script),
            &spec(),
            &limits,
            &CancelToken::new().unwrap(),
        )
        .unwrap();
    }
    make_some_ahead_for_nothing();
    let missing = Command::new(["/no/such/program"]);
    let cancel = CancelToken::new().unwrap();
    run_into(
        &mut Transcript::default(),
        &missing,
        &spec(),
        &limits(),
        &cancel,
    )
    .unwrap_err();
    cancel.cancel();
    run_into(
        &mut Transcript::default(),
        &shell("true"),
        &spec(),
        &limits(),
        &cancel,
    )
    .unwrap();
    drop(cancel);
    panic_in_the_middle();
    assert_eq!(Remains::look(), before);
}

fn panic_in_the_middle() {
    struct Panic;
    impl OutputSink for Panic {
        fn output(&mut self, _: Stream, _: &[u8]) {
            panic!("a sink may panic");
        }
    }
    let run = || {
        let cancel = CancelToken::new().unwrap();
        run_into(
            &mut Panic,
            &shell("echo x; sleep 1000"),
            &spec(),
            &limits(),
            &cancel,
        )
    };
    std::panic::catch_unwind(run).unwrap_err();
}

/// Runs in a child: a chamber that goes on until someone kills this process, in its second run, after which others are
/// expected.
fn run_until_killed(further: u32) {
    struct Announce;
    impl OutputSink for Announce {
        fn output(&mut self, _: Stream, _: &[u8]) {
            println!("chamber is up");
        }
    }
    let script = "trap '' TERM; (setsid sleep 1000 &); echo up; sleep 1000";
    let limits = Limits {
        timeout: None,
        ..limits()
    };
    let backend = Namespaces::new(HostClock::new(), disks());
    let mut chamber = backend
        .prepare(&Rootfs::directory(base()), &spec())
        .unwrap();
    chamber.expect(further);
    run_true(&mut *chamber);
    let cancel = CancelToken::new().unwrap();
    chamber
        .run(&shell(script), &limits, &mut Announce, &cancel)
        .unwrap();
}

/// What this process has on the host.
#[derive(Debug, PartialEq, Eq)]
struct Remains {
    mounts: String,
    groups: Vec<PathBuf>,
    children: String,
    temporary: BTreeSet<PathBuf>,
    disks: Vec<String>,
    descriptors: usize,
}

impl Remains {
    fn look() -> Self {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let children =
            tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap());
        let temporary = fs::read_dir(std::env::temp_dir())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        Self {
            mounts: fs::read_to_string("/proc/self/mountinfo").unwrap(),
            groups: groups_of(std::process::id()),
            children: children.collect(),
            temporary: temporary.collect(),
            disks: disks_in(&disks()),
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
        }
    }
}

/// This test program again, in another role.
fn in_role(role: &str) -> Process {
    let mut process = Process::new(std::env::current_exe().unwrap());
    process
        .args([
            "--exact",
            "leftovers::plays_the_role_it_is_given",
            "--nocapture",
        ])
        .env(ROLE, role);
    process
}

/// Of a group's directories, which it has in several trees.
fn names(groups: &[PathBuf]) -> BTreeSet<&OsStr> {
    groups.iter().filter_map(|path| path.file_name()).collect()
}

fn groups_of(pid: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    find_groups(
        Path::new("/sys/fs/cgroup"),
        &format!("kiln-run-{pid}-"),
        &mut found,
    );
    found
}

fn find_groups(directory: &Path, prefix: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
    {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            found.push(entry.path());
        } else {
            find_groups(&entry.path(), prefix, found);
        }
    }
}

fn members_of(group: &Path) -> Vec<i32> {
    let members = fs::read_to_string(group.join("cgroup.procs")).unwrap();
    members.lines().map(|line| line.parse().unwrap()).collect()
}

/// Waits for the kernel's word that a process has ended; a minute is only there to end a failing test.
fn ends_soon(process: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    poll(
        &mut fds,
        Some(&Timespec {
            tv_sec: 60,
            tv_nsec: 0,
        }),
    )
    .unwrap()
        == 1
}
