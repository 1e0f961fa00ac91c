//! The QEMU back end, as a runner uses it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Arc;
use std::time::Duration;

use kiln_sandbox::{
    Accelerator, Backend as _, BootEnd, CancelToken, Chamber, ChamberSpec, Command, GuestKernel,
    Limits, Machines, OutputSink, QemuConfig, Rootfs, Stream,
};
use kiln_store::SystemClock;
use tempfile::NamedTempFile;

use super::{WORD, resident};
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;

/// A machine that takes longer is stuck.
const PATIENCE: Duration = Duration::from_mins(2);

pub(super) struct Ours {
    config: QemuConfig,
    disk_path: PathBuf,
    disk: Rootfs,
}

impl Ours {
    pub(super) fn new(place: &Path, root: &Path, kernel: &GuestKernel) -> Result<Self, Failure> {
        let disk = place.join("root.ext4");
        let made = Process::new("/sbin/mke2fs")
            .args(["-q", "-F", "-t", "ext4", "-d"])
            .args([root, &disk])
            .arg("32M")
            .output()
            .map_err(|source| Failure::io("run mke2fs", source))?;
        if !made.status.success() {
            return Err(Failure::Wrong("mke2fs cannot make a disk".to_owned()));
        }
        Ok(Self {
            config: QemuConfig::new(kernel.clone(), Accelerator::Tcg, place),
            disk: Rootfs::disk(&disk),
            disk_path: disk,
        })
    }

    /// Machines that come from no template, each of which boots. Their kernel is unpacked.
    pub(super) fn cold(&self) -> Result<Started, Failure> {
        let config = QemuConfig {
            kept_bytes: 0,
            ..self.config.clone()
        };
        let machines = Machines::qemu(config, Arc::new(SystemClock::new()));
        Self::chamber(&machines, &self.disk, Iterations::One, false)
    }

    /// From nothing to our guest program's word that it is up.
    pub(super) fn boot(&self) -> Result<Duration, Failure> {
        let report = self
            .config
            .boot(&SystemClock::new(), PATIENCE, &mut io::sink())?;
        if let BootEnd::Up { .. } = report.end {
            return Ok(report.total);
        }
        let end = report.end;
        Err(Failure::Wrong(format!("the machine ended as {end:?}")))
    }

    /// From nothing to the command of a runner's first job: the kernel unpacked, a template booted and written down, a machine
    /// restored from it, its chamber sealed.
    pub(super) fn first_command(&self) -> Result<Duration, Failure> {
        let since = Stopwatch::start();
        let machines = self.machines();
        let mut chamber = Self::chamber(&machines, &self.disk, Iterations::One, false)?;
        let prepared = since.elapsed();
        Ok(prepared + chamber.start_of_command()?)
    }

    /// A back end whose template is not made yet.
    pub(super) fn machines(&self) -> Machines {
        Machines::qemu(self.config.clone(), Arc::new(SystemClock::new()))
    }

    /// A chamber that nothing was made for, of a job with this many iterations.
    pub(super) fn unready(
        &self,
        machines: &Machines,
        iterations: Iterations,
    ) -> Result<Started, Failure> {
        Self::chamber(machines, &self.disk, iterations, false)
    }

    /// A chamber with a network, of a job with several iterations. Not every host can give one.
    pub(super) fn networked(&self, machines: &Machines) -> Result<Started, Failure> {
        Self::chamber(machines, &self.disk, Iterations::Many, true)
    }

    /// A job with one iteration of an image, as a runner has it.
    pub(super) fn job(machines: &Machines, image: &Image) -> Result<Job, Failure> {
        let since = Stopwatch::start();
        let mut chamber = Self::chamber(machines, &image.disk, Iterations::One, false)?;
        chamber.make_ready();
        let set_up = since.elapsed();
        Ok(Job {
            set_up,
            start: chamber.start_of_command()?,
        })
    }

    /// The same image again, as another one that no machine has seen.
    pub(super) fn new_image(&self) -> Result<Image, Failure> {
        let failed = |source| Failure::io("copy a disk", source);
        let file = NamedTempFile::new_in(&self.config.work_dir).map_err(failed)?;
        fs::copy(&self.disk_path, file.path()).map_err(failed)?;
        Ok(Image {
            disk: Rootfs::disk(file.path()),
            _file: file,
        })
    }

    fn chamber(
        machines: &Machines,
        disk: &Rootfs,
        iterations: Iterations,
        network: bool,
    ) -> Result<Started, Failure> {
        let spec = ChamberSpec {
            network,
            ..ChamberSpec::default()
        };
        let mut chamber = machines.prepare(disk, &spec)?;
        chamber.expect(u32::from(iterations == Iterations::Many));
        Ok(Started {
            chamber,
            cancel: CancelToken::new()?,
        })
    }
}

/// An image on the host.
pub(super) struct Image {
    disk: Rootfs,
    /// Goes with it.
    _file: NamedTempFile,
}

/// How long a job took to come to its command.
pub(super) struct Job {
    /// What is done before the job is said to run.
    pub(super) set_up: Duration,
    /// From the order to run to the command's start.
    pub(super) start: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Iterations {
    One,
    Many,
}

pub(super) struct Started {
    chamber: Box<dyn Chamber>,
    cancel: CancelToken,
}

impl Started {
    fn make_ready(&mut self) {
        self.chamber.make_ready(&command(), &self.cancel);
    }

    /// From the order to the command's start.
    pub(super) fn start_of_command(&mut self) -> Result<Duration, Failure> {
        let mut watch = Watch::start(false);
        self.run(&mut watch)?;
        watch
            .started
            .ok_or_else(|| Failure::Wrong("the command did not start".to_owned()))
    }

    /// From the order to the command's word.
    pub(super) fn word_of_command(&mut self) -> Result<Duration, Failure> {
        let mut watch = Watch::start(false);
        self.run_into(&Command::new(["/bin/echo", WORD]), &mut watch)?;
        watch
            .spoke
            .ok_or_else(|| Failure::Wrong("the command said nothing".to_owned()))
    }

    /// What QEMU has in memory beside the guest's own, while a command runs.
    pub(super) fn resident_mebibytes(&mut self) -> Result<f64, Failure> {
        let mut watch = Watch::start(true);
        self.run(&mut watch)?;
        watch
            .resident
            .ok_or_else(|| Failure::Wrong("QEMU's memory cannot be read".to_owned()))
    }

    fn run(&mut self, watch: &mut Watch) -> Result<(), Failure> {
        self.run_into(&command(), watch)
    }

    fn run_into(&mut self, command: &Command, watch: &mut Watch) -> Result<(), Failure> {
        let exit = self
            .chamber
            .run(command, &Limits::default(), watch, &self.cancel)?;
        match exit.code() {
            Some(0) => Ok(()),
            _ => Err(Failure::Wrong(format!("it ended as {:?}", exit.outcome))),
        }
    }
}

fn command() -> Command {
    Command::new(["/bin/true"])
}

struct Watch {
    since: Stopwatch,
    started: Option<Duration>,
    spoke: Option<Duration>,
    /// Whether QEMU's memory is looked at when the command starts: that takes a while.
    looks: bool,
    resident: Option<f64>,
}

impl Watch {
    fn start(looks: bool) -> Self {
        Self {
            since: Stopwatch::start(),
            started: None,
            spoke: None,
            looks,
            resident: None,
        }
    }
}

impl OutputSink for Watch {
    fn started(&mut self) {
        self.started = Some(self.since.elapsed());
        if self.looks {
            self.resident = resident::mebibytes_of_qemu();
        }
    }

    fn output(&mut self, _: Stream, _: &[u8]) {
        self.spoke.get_or_insert_with(|| self.since.elapsed());
    }
}
