//! Starting Firecracker's machines.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kiln_guest_init::protocol::machine::VSOCK_PORT;
use kiln_model::Clock;
use kiln_model::v0::Isolation;
use rustix::event::{PollFd, PollFlags, poll};

use super::config::FirecrackerConfig;
use super::launch::PAUSE;
use super::machine::{Hardware, put_disks};
use super::place::{Place, VSOCK};
use super::snapshot::{Snapshot, load};
use super::{version, vsock};
use crate::guest::Leash;
use crate::link::Link;
use crate::microvm::{
    Disks, HiddenFile, Hypervisor, InitialFiles, Monitor, Order, Process, Shape, Started,
};
use crate::network::MachineNetwork;
use crate::{CancelToken, Error, Layer, abandoned};

/// From the start to the guest's listening.
const BOOT_PATIENCE: Duration = Duration::from_mins(1);

/// A restored guest listens at once.
const RESTORE_PATIENCE: Duration = Duration::from_secs(10);

/// The disks of a snapshot are never looked at: their driver is told to only after the restore.
const PLACEHOLDER_BYTES: u64 = 1 << 20;

/// Firecracker as it starts machines.
#[derive(Debug)]
pub(crate) struct Firecracker {
    config: FirecrackerConfig,
    clock: Arc<dyn Clock>,
    initial: InitialFiles,
    /// What a shape's machines are restored from, or why they must boot.
    snapshots: Mutex<BTreeMap<Shape, Result<Arc<Snapshot>, String>>>,
}

impl Firecracker {
    /// Checks the program's version and removes what a crash left.
    pub(crate) fn new(config: FirecrackerConfig, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let config = config.located()?;
        version::check(&config.program, config.jailer.as_deref())?;
        abandoned::remove_directories(&config.work_dir)
            .map_err(|error| Error::host("cannot remove what is left of machines", error))?;
        Ok(Self {
            config,
            clock,
            initial: InitialFiles::default(),
            snapshots: Mutex::default(),
        })
    }

    /// The snapshot of a shape, taken on first use. Others wait meanwhile: they need it too, or its CPU time.
    fn snapshot(&self, shape: Shape) -> Result<Arc<Snapshot>, String> {
        let mut snapshots = self.snapshots();
        let snapshot = snapshots.entry(shape).or_insert_with(|| {
            let taken = self.take_snapshot(shape);
            taken.map(Arc::new).map_err(|error| {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "no snapshot can be taken: machines boot"
                );
                error.to_string()
            })
        });
        snapshot.clone()
    }

    fn snapshots(
        &self,
    ) -> std::sync::MutexGuard<'_, BTreeMap<Shape, Result<Arc<Snapshot>, String>>> {
        self.snapshots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn take_snapshot(&self, shape: Shape) -> Result<Snapshot, Error> {
        let placeholder = || {
            let file = HiddenFile::create(&self.config.work_dir)?;
            file.file()
                .set_len(PLACEHOLDER_BYTES)
                .map_err(|error| Error::host("cannot make room for a snapshot", error))?;
            Ok::<_, Error>(file)
        };
        let [base, scratch] = [placeholder()?, placeholder()?];
        let disks = Disks {
            base: base.path(),
            scratch: scratch.path(),
        };
        let place = self.config.place()?;
        let hardware = self.hardware(shape, &disks)?;
        hardware.put_into(&place)?;
        let (mut process, mut api) =
            self.config
                .launch(&*self.clock, &place, Leash::default(), Stdio::null())?;
        hardware.start(&mut api)?;
        let up = self.link(&place, &mut process, &CancelToken::new()?, BOOT_PATIENCE)?;
        let mut monitor = Monitor::new(process, up.link);
        monitor
            .wait_until_up(None)
            .map_err(|error| monitor.explain(error))?;
        let process = monitor.hang_up();
        let snapshot = Snapshot::take(&mut api, place)?;
        drop(process);
        Ok(snapshot)
    }

    fn hardware<'a>(&'a self, shape: Shape, disks: &'a Disks) -> Result<Hardware<'a>, Error> {
        let initramfs = self
            .initial
            .file(&self.config.kernel, &self.config.work_dir)?;
        Ok(Hardware {
            shape,
            kernel: self.config.kernel.image(),
            initramfs: Some(initramfs.path()),
            disks: Some(disks),
            console: false,
            tap: None,
        })
    }

    fn restore(&self, snapshot: &Snapshot, order: &Order<'_>) -> Result<Started, Error> {
        let place = self.config.place()?;
        snapshot.put_into(&place)?;
        put_disks(order.disks, &place)?;
        let (process, mut api) = self.launch(&place, order)?;
        load(&mut api)?;
        self.started(
            place,
            process,
            order,
            RESTORE_PATIENCE,
            "from a snapshot".to_owned(),
        )
    }

    fn boot(&self, order: &Order<'_>, why: &str) -> Result<Started, Error> {
        let place = self.config.place()?;
        let owner = place.inmate().map(|inmate| inmate.id);
        let network = order
            .network
            .map(|network| network.open(owner))
            .transpose()?;
        let hardware = Hardware {
            tap: order.network.map(MachineNetwork::device),
            ..self.hardware(order.shape, order.disks)?
        };
        hardware.put_into(&place)?;
        let (process, mut api) = self.launch(&place, order)?;
        hardware.start(&mut api)?;
        let started = self.started(
            place,
            process,
            order,
            BOOT_PATIENCE,
            format!("a boot: {why}"),
        )?;
        Ok(Started {
            monitor: started.monitor.keeping(Box::new(network)),
            ..started
        })
    }

    fn launch(
        &self,
        place: &Place,
        order: &Order<'_>,
    ) -> Result<(Process, super::api::Api), Error> {
        let leash = Leash {
            groups: order.group.entrances(),
            cores: order.cores.to_vec(),
            ..Leash::default()
        };
        self.config
            .launch(&*self.clock, place, leash, Stdio::null())
    }

    fn started(
        &self,
        place: Place,
        mut process: Process,
        order: &Order<'_>,
        patience: Duration,
        start: String,
    ) -> Result<Started, Error> {
        let Up { link, silent } = self.link(&place, &mut process, order.cancel, patience)?;
        let layers = vec![jail_layer(&place), Layer::applied("start", start)];
        let monitor = Monitor::new(process, link).keeping(Box::new((place, silent)));
        Ok(Started { monitor, layers })
    }

    /// Waits until the guest listens. After a cancel it gives a link on which nothing is ever heard: whoever talks to the
    /// guest next sees the cancel.
    fn link(
        &self,
        place: &Place,
        process: &mut Process,
        cancel: &CancelToken,
        patience: Duration,
    ) -> Result<Up, Error> {
        let deadline = self.clock.monotonic() + patience;
        loop {
            let connected = vsock::connect(&place.socket(VSOCK), VSOCK_PORT)
                .map_err(|error| Error::host("cannot connect to the guest", error))?;
            if let Some(socket) = connected {
                return Ok(Up {
                    link: Link::new(socket)?,
                    silent: None,
                });
            }
            if let Some(status) = process.ended() {
                let words = place.last_words();
                let what = format!("it ended before its guest was up: {status} {words}");
                return Err(process.explain_end(what.trim_end()));
            }
            if self.clock.monotonic() >= deadline {
                return Err(Error::NotReady);
            }
            if cancel.is_canceled() {
                let (ours, silent) = UnixStream::pair()
                    .map_err(|error| Error::host("cannot make a socket pair", error))?;
                return Ok(Up {
                    link: Link::new(ours)?,
                    silent: Some(silent),
                });
            }
            let mut fds = [PollFd::new(cancel, PollFlags::IN)];
            // Interrupted or not, the next attempt follows.
            let _ = poll(&mut fds, Some(&PAUSE));
        }
    }
}

/// The way to a guest.
struct Up {
    link: Link,
    /// The other end of a way that leads nowhere.
    silent: Option<UnixStream>,
}

fn jail_layer(place: &Place) -> Layer {
    match place.inmate() {
        Some(inmate) => Layer::applied(
            "jailer",
            format!("a root and a process tree of its own, user {}", inmate.id),
        ),
        None => Layer::missing(
            "jailer",
            "Firecracker runs with its own seccomp filters only",
        ),
    }
}

impl Hypervisor for Firecracker {
    fn name(&self) -> &'static str {
        "firecracker"
    }

    /// Its machines are always KVM's; its jailer is what can be missing.
    fn isolation(&self) -> Isolation {
        if self.config.jailer.is_some() {
            Isolation::Firecracker
        } else {
            Isolation::Microvm
        }
    }

    fn warm_up(&self, shape: Shape) -> Result<(), Error> {
        if !shape.network {
            // Without a snapshot machines boot, which is slower and as good.
            let _ = self.snapshot(shape);
        }
        Ok(())
    }

    fn start(&self, order: &Order<'_>) -> Result<Started, Error> {
        if order.shape.network {
            // A snapshot's device would have to be told of another tap device than its own.
            return self.boot(order, "it has a network");
        }
        let why = match self.snapshot(order.shape) {
            Err(why) => why,
            Ok(snapshot) => match self.restore(&snapshot, order) {
                Ok(started) => return Ok(started),
                Err(error) => {
                    let why = format!("the snapshot cannot be loaded: {error}");
                    tracing::warn!("{why}");
                    self.snapshots().insert(order.shape, Err(why.clone()));
                    why
                }
            },
        };
        self.boot(order, &why)
    }

    fn layers(&self) -> Vec<Layer> {
        vec![Layer::applied("machine", "firecracker")]
    }

    fn work_dir(&self) -> &Path {
        &self.config.work_dir
    }
}
