//! Making Firecracker chambers.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kiln_guest_init::protocol::machine::VSOCK_PORT;
use kiln_model::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::api::{Api, broken};
use super::machine::Hardware;
use super::place::{self, Place};
use super::{version, vsock};
use crate::link::Link;
use crate::microvm::{
    GuestKernel, HiddenFile, Hypervisor, MachineChamber, Monitor, Order, Process, Shape, initramfs,
};
use crate::{Backend, BaseKind, CancelToken, Chamber, ChamberSpec, Error, Layer, Rootfs, guest};

/// Firecracker's socket is there a few milliseconds after its start.
const API_PATIENCE: Duration = Duration::from_secs(10);

/// From the start to the guest's listening.
const BOOT_PATIENCE: Duration = Duration::from_mins(1);

const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

#[derive(Clone, Debug)]
pub struct FirecrackerConfig {
    pub program: PathBuf,
    /// An uncompressed ELF kernel.
    pub kernel: GuestKernel,
    /// For disks, sockets and logs. What a crash leaves there goes at the next start.
    pub work_dir: PathBuf,
}

impl FirecrackerConfig {
    /// The program's version, or why it cannot be used.
    pub fn check_version(&self) -> Result<String, Error> {
        version::check(&self.program)
    }

    /// Starts the program and waits for its socket.
    pub(super) fn spawn(
        &self,
        clock: &dyn Clock,
        place: &Place,
        stdout: Stdio,
    ) -> Result<(Process, Api), Error> {
        let mut command = guest::on_a_leash(&self.program, &[])?;
        command
            .arg("--id")
            .arg(place.id())
            .arg("--api-sock")
            .arg(place.api())
            // Its log and the guest's serial line would otherwise mix on its standard output.
            .arg("--log-path")
            .arg(place.log())
            .arg("--metrics-path")
            .arg(place.metrics())
            .stdin(Stdio::null())
            .stdout(stdout);
        let log = HiddenFile::create(&self.work_dir)?;
        let mut process = Process::spawn(command, log)?;
        let deadline = clock.monotonic() + API_PATIENCE;
        loop {
            if let Ok(api) = Api::connect(&place.api()) {
                return Ok((process, api));
            }
            if let Some(status) = process.ended() {
                return Err(process
                    .explain_end(&format!("it ended before it could be talked to: {status}")));
            }
            if clock.monotonic() >= deadline {
                return Err(broken("it does not open its socket"));
            }
            // Interrupted or not, the next attempt follows.
            let _ = poll(&mut [], Some(&PAUSE));
        }
    }
}

/// Chambers that are Firecracker's machines.
#[derive(Debug)]
pub struct Firecracker {
    clock: Arc<dyn Clock>,
    machines: Arc<Machines>,
}

impl Firecracker {
    /// Checks the program's version and removes what a crash left.
    pub fn new(config: FirecrackerConfig, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        config.check_version()?;
        place::sweep(&config.work_dir)
            .map_err(|error| Error::host("cannot remove what is left of machines", error))?;
        Ok(Self {
            clock: Arc::clone(&clock),
            machines: Arc::new(Machines {
                config,
                clock,
                initramfs: OnceLock::new(),
            }),
        })
    }
}

impl Backend for Firecracker {
    fn name(&self) -> &'static str {
        "firecracker"
    }

    fn base_kind(&self) -> BaseKind {
        BaseKind::Disk
    }

    fn prepare(&self, rootfs: &Rootfs, spec: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
        Ok(Box::new(MachineChamber::prepare(
            Arc::clone(&self.clock),
            Arc::clone(&self.machines) as Arc<dyn Hypervisor>,
            rootfs.resolved_disk()?,
            spec,
        )?))
    }
}

#[derive(Debug)]
struct Machines {
    config: FirecrackerConfig,
    clock: Arc<dyn Clock>,
    initramfs: OnceLock<HiddenFile>,
}

impl Machines {
    fn initramfs(&self) -> Result<&HiddenFile, Error> {
        if let Some(file) = self.initramfs.get() {
            return Ok(file);
        }
        let file = HiddenFile::create(&self.config.work_dir)?;
        let mut writer = file.file();
        writer
            .write_all(&initramfs(&self.config.kernel)?)
            .map_err(|error| Error::host("cannot write the initial file system", error))?;
        Ok(self.initramfs.get_or_init(|| file))
    }

    /// Waits until the guest listens. After a cancel it gives a link on which nothing is ever heard, and its other end:
    /// whoever talks to the guest next sees the cancel.
    fn link(
        &self,
        place: &Place,
        process: &mut Process,
        cancel: &CancelToken,
    ) -> Result<(Link, Option<UnixStream>), Error> {
        let deadline = self.clock.monotonic() + BOOT_PATIENCE;
        loop {
            let connected = vsock::connect(&place.vsock(), VSOCK_PORT)
                .map_err(|error| Error::host("cannot connect to the guest", error))?;
            if let Some(socket) = connected {
                return Ok((Link::new(socket)?, None));
            }
            if let Some(status) = process.ended() {
                let what = format!("it ended before its guest was up: {status}");
                return Err(process.explain_end(&what));
            }
            if self.clock.monotonic() >= deadline {
                return Err(Error::NotReady);
            }
            if cancel.is_canceled() {
                let (ours, silent) = UnixStream::pair()
                    .map_err(|error| Error::host("cannot make a socket pair", error))?;
                return Ok((Link::new(ours)?, Some(silent)));
            }
            let mut fds = [PollFd::new(cancel, PollFlags::IN)];
            // Interrupted or not, the next attempt follows.
            let _ = poll(&mut fds, Some(&PAUSE));
        }
    }
}

impl Hypervisor for Machines {
    fn warm_up(&self, _: Shape) -> Result<(), Error> {
        self.initramfs().map(drop)
    }

    fn start(&self, order: &Order<'_>) -> Result<Monitor, Error> {
        let place = Place::create(&self.config.work_dir)?;
        let (mut process, mut api) = self.config.spawn(&*self.clock, &place, Stdio::null())?;
        order.group.add(process.pid())?;
        let hardware = Hardware {
            shape: order.shape,
            kernel: self.config.kernel.image(),
            initramfs: Some(&self.initramfs()?.path()),
            disks: Some(order.disks),
            console: false,
        };
        hardware.start(&mut api, &place)?;
        let (link, silent) = self.link(&place, &mut process, order.cancel)?;
        Ok(Monitor::new(process, link).keeping(Box::new((place, silent))))
    }

    fn layers(&self) -> Vec<Layer> {
        vec![
            Layer::applied("machine", "firecracker"),
            Layer::missing(
                "jailer",
                "Firecracker runs with its own seccomp filters only",
            ),
        ]
    }

    fn work_dir(&self) -> &Path {
        &self.config.work_dir
    }
}
