//! Back ends with a base they can use.

use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, OnceLock};

use kiln_model::v0::Isolation;
use kiln_sandbox::{
    Accelerator, Backend, BaseKind, CancelToken, Chamber, ChamberSpec, Command, Error, Exit,
    FirecrackerConfig, GuestKernel, Limits, Machines, Namespaces, OutputSink, Processes,
    QemuConfig, Rootfs, Transcript,
};

use crate::base::base;
use crate::support::{HostClock, disks, limits, spec};

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) exit: Exit,
    pub(crate) raw_stdout: Vec<u8>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

type Make = fn(Arc<HostClock>) -> Arc<dyn Backend>;

/// A back end and its clock.
pub(crate) struct Place {
    make: Make,
    backend: Arc<dyn Backend>,
    pub(crate) clock: Arc<HostClock>,
}

pub(crate) fn namespace() -> Place {
    Place::new(|clock| Arc::new(Namespaces::new(clock, disks())))
}

/// No chambers at all.
pub(crate) fn process() -> Place {
    Place::new(|clock| Arc::new(Processes::new(env!("CARGO_TARGET_TMPDIR"), clock).unwrap()))
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
    qemu_of(clock, |_| {})
}

/// One of the test's own, with something changed.
pub(crate) fn qemu_of(
    clock: Arc<HostClock>,
    change: impl FnOnce(&mut QemuConfig),
) -> Arc<dyn Backend> {
    let kernel = GuestKernel::find().expect("no guest kernel: run `cargo xtask setup`");
    let mut config = QemuConfig::new(kernel, Accelerator::Tcg, env!("CARGO_TARGET_TMPDIR"));
    change(&mut config);
    Arc::new(Machines::qemu(config, clock))
}

/// Firecracker's driver on a double of Firecracker: see `doubles/firecracker/`.
pub(crate) fn firecracker() -> Place {
    Place::new(|clock| new_firecracker(false, clock))
}

/// The same through a double of the jailer.
pub(crate) fn jailed_firecracker() -> Place {
    Place::new(|clock| new_firecracker(true, clock))
}

fn new_firecracker(is_jailed: bool, clock: Arc<HostClock>) -> Arc<dyn Backend> {
    Arc::new(Machines::firecracker(firecracker_config(is_jailed), clock).unwrap())
}

pub(crate) fn firecracker_config(is_jailed: bool) -> FirecrackerConfig {
    FirecrackerConfig {
        program: env!("CARGO_BIN_EXE_firecracker-double").into(),
        jailer: is_jailed.then(|| env!("CARGO_BIN_EXE_jailer-double").into()),
        // The double boots none, but opens it.
        kernel: GuestKernel::at("/bin/busybox").unwrap(),
        work_dir: env!("CARGO_TARGET_TMPDIR").into(),
    }
}

impl Place {
    fn new(make: Make) -> Self {
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

    /// How far it keeps commands from the host.
    pub(crate) fn isolation(&self) -> Option<Isolation> {
        self.backend.isolation()
    }

    pub(crate) fn prepare(&self, spec: &ChamberSpec) -> Box<dyn Chamber> {
        self.try_prepare(spec).unwrap()
    }

    fn try_prepare(&self, spec: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
        prepare_on(&*self.backend, base(), spec)
    }

    /// Runs a command over another base than the usual one.
    pub(crate) fn run_over(&self, base: &Path, command: &Command) -> Finished {
        let mut chamber = prepare_on(&*self.backend, base, &spec()).unwrap();
        let finished = Self::run_in(&mut *chamber, command);
        chamber.destroy().unwrap();
        finished
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

/// Runs a command on a back end of the test's own, with the usual spec and limits.
pub(crate) fn run_on(backend: &dyn Backend, command: &Command) -> Result<Finished, Error> {
    let mut chamber = prepare_on(backend, base(), &spec())?;
    let mut transcript = Transcript::default();
    let exit = chamber.run(command, &limits(), &mut transcript, &CancelToken::new()?)?;
    chamber.destroy()?;
    Ok(Finished::new(exit, transcript))
}

fn prepare_on(
    backend: &dyn Backend,
    base: &Path,
    spec: &ChamberSpec,
) -> Result<Box<dyn Chamber>, Error> {
    let rootfs = match backend.base_kind() {
        BaseKind::Directory => Rootfs::directory(base),
        BaseKind::Disk => Rootfs::disk(disk_of(base)),
    };
    backend.prepare(&rootfs, spec)
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

/// A base as a disk, made by the reference program. It stays for the next time.
pub(crate) fn disk_of(base: &Path) -> PathBuf {
    let disk = base.with_extension("ext4");
    if disk.exists() {
        return disk;
    }
    let making = tempfile::NamedTempFile::new_in(base.parent().unwrap()).unwrap();
    let made = process::Command::new("/sbin/mke2fs")
        .args(["-q", "-F", "-t", "ext4", "-d"])
        .args([base, making.path()])
        .arg("32M")
        .status()
        .expect("e2fsprogs is not installed: run `cargo xtask setup`");
    assert!(made.success());
    // Another thread may have been faster; its disk is as good.
    making.persist(&disk).unwrap();
    disk
}
