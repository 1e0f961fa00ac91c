//! Back ends with a base they can use.

use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, OnceLock};

use kiln_sandbox::{
    Accelerator, Backend, BaseKind, CancelToken, Chamber, ChamberSpec, Command, Error, Exit,
    GuestKernel, Limits, Namespaces, OutputSink, Qemu, QemuConfig, Rootfs, Transcript,
};

use crate::base::base;
use crate::support::{HostClock, limits, spec};

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) exit: Exit,
    pub(crate) raw_stdout: Vec<u8>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A back end and its clock.
pub(crate) struct Place {
    make: fn(Arc<HostClock>) -> Arc<dyn Backend>,
    backend: Arc<dyn Backend>,
    pub(crate) clock: Arc<HostClock>,
}

pub(crate) fn namespace() -> Place {
    Place::new(|clock| Arc::new(Namespaces::new(clock)))
}

/// All tests share one, and with it its templates: the clock that bounds their runs is real time.
pub(crate) fn qemu() -> Place {
    static SHARED: OnceLock<(Arc<dyn Backend>, Arc<HostClock>)> = OnceLock::new();
    let (backend, clock) = SHARED.get_or_init(|| {
        let clock = HostClock::new();
        (new_qemu(clock.clone()), clock)
    });
    Place {
        make: new_qemu,
        backend: backend.clone(),
        clock: clock.clone(),
    }
}

fn new_qemu(clock: Arc<HostClock>) -> Arc<dyn Backend> {
    let kernel = GuestKernel::find().expect("no guest kernel: run `cargo xtask setup`");
    let config = QemuConfig::new(kernel, Accelerator::Tcg, env!("CARGO_TARGET_TMPDIR"));
    Arc::new(Qemu::new(config, clock))
}

impl Place {
    fn new(make: fn(Arc<HostClock>) -> Arc<dyn Backend>) -> Self {
        let clock = HostClock::new();
        Self {
            make,
            backend: make(clock.clone()),
            clock,
        }
    }

    /// For tests that let time jump.
    pub(crate) fn with_its_own_clock(&self) -> Self {
        Self::new(self.make)
    }

    pub(crate) fn prepare(&self, spec: &ChamberSpec) -> Box<dyn Chamber> {
        self.try_prepare(spec).unwrap()
    }

    fn try_prepare(&self, spec: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
        let rootfs = match self.backend.base_kind() {
            BaseKind::Directory => Rootfs::directory(base()),
            BaseKind::Disk => Rootfs::disk(base_disk()),
        };
        self.backend.prepare(&rootfs, spec)
    }

    pub(crate) fn run_into(
        &self,
        sink: &mut dyn OutputSink,
        command: &Command,
        spec: &ChamberSpec,
        limits: &Limits,
        cancel: &CancelToken,
    ) -> Result<Exit, Error> {
        let mut chamber = self.try_prepare(spec)?;
        let exit = chamber.run(command, limits, sink, cancel)?;
        chamber.destroy()?;
        Ok(exit)
    }

    pub(crate) fn try_run(
        &self,
        command: &Command,
        spec: &ChamberSpec,
        limits: &Limits,
    ) -> Result<Finished, Error> {
        let mut transcript = Transcript::default();
        let exit = self.run_into(&mut transcript, command, spec, limits, &CancelToken::new()?)?;
        Ok(Finished::new(exit, transcript))
    }

    pub(crate) fn run_in(chamber: &mut dyn Chamber, command: &Command) -> Finished {
        let mut transcript = Transcript::default();
        let cancel = CancelToken::new().unwrap();
        let exit = chamber
            .run(command, &limits(), &mut transcript, &cancel)
            .unwrap();
        Finished::new(exit, transcript)
    }

    /// Runs a command with the usual spec and limits.
    pub(crate) fn run(&self, command: &Command) -> Finished {
        self.try_run(command, &spec(), &limits()).unwrap()
    }

    /// Runs a script and returns what it wrote to standard output; the script must succeed.
    pub(crate) fn output_of(&self, script: &str) -> String {
        let finished = self.run(&crate::support::shell(script));
        assert_eq!(finished.exit.code(), Some(0), "{finished:?}");
        finished.stdout
    }
}

impl Finished {
    fn new(exit: Exit, transcript: Transcript) -> Self {
        Self {
            exit,
            stdout: String::from_utf8_lossy(&transcript.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&transcript.stderr).into_owned(),
            raw_stdout: transcript.stdout,
        }
    }
}

/// The base as a disk, made by the reference program. It stays for the next time.
fn base_disk() -> &'static Path {
    static DISK: OnceLock<PathBuf> = OnceLock::new();
    DISK.get_or_init(|| {
        let disk = base().with_extension("ext4");
        if disk.exists() {
            return disk;
        }
        let making = disk.with_extension(format!("{}.tmp", process::id()));
        let made = process::Command::new("/sbin/mke2fs")
            .args(["-q", "-F", "-t", "ext4", "-d"])
            .args([base(), &making])
            .arg("32M")
            .status()
            .expect("e2fsprogs is not installed: run `cargo xtask setup`");
        assert!(made.success());
        std::fs::rename(&making, &disk).unwrap();
        disk
    })
}
