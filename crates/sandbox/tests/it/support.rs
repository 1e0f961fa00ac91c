//! A clock, and a short way to run a script.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use kiln_model::{Clock, Millis};
use kiln_sandbox::{
    Backend, CancelToken, ChamberSpec, Command, Error, Exit, Limits, Missing, Namespaces,
    OutputSink, Rootfs, Transcript,
};

use crate::base::base;

/// The time of this host, which can be made to jump ahead.
#[derive(Debug)]
pub(crate) struct HostClock {
    since: Instant,
    ahead_ms: AtomicI64,
}

impl HostClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests of real processes run in real time"
    )]
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            since: Instant::now(),
            ahead_ms: AtomicI64::new(0),
        })
    }

    pub(crate) fn jump(&self, span: Duration) {
        self.ahead_ms
            .fetch_add((Millis::ZERO + span).0, Ordering::Relaxed);
    }
}

impl Clock for HostClock {
    fn wall(&self) -> Millis {
        self.monotonic()
    }

    fn monotonic(&self) -> Millis {
        Millis(self.ahead_ms.load(Ordering::Relaxed)) + self.since.elapsed()
    }
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) exit: Exit,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn shell(script: &str) -> Command {
    Command {
        env: vec![("PATH".into(), "/bin".into())],
        ..Command::new(["/bin/sh", "-c", script])
    }
}

/// A spec small enough for many at once, with room to be tested against. Only root can be sure of its limits.
pub(crate) fn spec() -> ChamberSpec {
    ChamberSpec {
        cpus: 1,
        memory_bytes: 256 << 20,
        disk_bytes: 16 << 20,
        processes: 64,
        missing_limits: if rustix::process::geteuid().is_root() {
            Missing::Refuse
        } else {
            Missing::Accept
        },
        ..ChamberSpec::default()
    }
}

/// Limits that end a hanging test, with patience for an emulated machine on a busy host.
pub(crate) fn limits() -> Limits {
    Limits {
        timeout: Some(Duration::from_mins(10)),
        grace: Duration::from_millis(200),
        ..Limits::default()
    }
}

pub(crate) fn try_run(
    command: &Command,
    spec: &ChamberSpec,
    limits: &Limits,
) -> Result<Finished, Error> {
    let mut transcript = Transcript::default();
    let exit = run_into(&mut transcript, command, spec, limits, &CancelToken::new()?)?;
    Ok(Finished {
        exit,
        stdout: String::from_utf8_lossy(&transcript.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&transcript.stderr).into_owned(),
    })
}

pub(crate) fn run_into(
    sink: &mut dyn OutputSink,
    command: &Command,
    spec: &ChamberSpec,
    limits: &Limits,
    cancel: &CancelToken,
) -> Result<Exit, Error> {
    run_by_clock(HostClock::new(), sink, command, spec, limits, cancel)
}

pub(crate) fn run_by_clock(
    clock: Arc<HostClock>,
    sink: &mut dyn OutputSink,
    command: &Command,
    spec: &ChamberSpec,
    limits: &Limits,
    cancel: &CancelToken,
) -> Result<Exit, Error> {
    let mut chamber = Namespaces::new(clock, disks()).prepare(&Rootfs::directory(base()), spec)?;
    let exit = chamber.run(command, limits, sink, cancel)?;
    chamber.destroy()?;
    Ok(exit)
}

/// Runs a command with the usual spec and limits.
pub(crate) fn run(command: &Command) -> Finished {
    try_run(command, &spec(), &limits()).unwrap()
}

/// Runs a script and returns what it wrote to standard output; the script must succeed.
pub(crate) fn output_of(script: &str) -> String {
    let finished = run(&shell(script));
    assert_eq!(finished.exit.code(), Some(0), "{finished:?}");
    finished.stdout
}

/// Names another place for disks than the usual one.
pub(crate) const DISKS: &str = "KILN_TEST_DISKS";

/// Where disks are made. Unlike the place for temporary files it is on a disk everywhere.
pub(crate) fn disks() -> PathBuf {
    std::env::var_os(DISKS).map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from)
}

/// The loop devices whose file is, or was, in a directory, each with the number that a disk never has again. A mount that has
/// no path shows only here.
pub(crate) fn disks_in(directory: &Path) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").unwrap();
    let disks = devices.filter_map(|entry| {
        let device = entry.unwrap().path();
        let file = fs::read_to_string(device.join("loop/backing_file")).ok()?;
        let is_there = Path::new(&file).starts_with(directory);
        is_there.then(|| fs::read_to_string(device.join("diskseq")).unwrap())
    });
    disks.collect()
}
