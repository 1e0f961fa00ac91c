//! Starting Firecracker's machines.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kiln_guest_init::protocol::machine::VSOCK_PORT;
use kiln_model::v0::Isolation;
use kiln_model::{Clock, Millis};
use rustix::event::{PollFd, PollFlags, poll};

use super::config::FirecrackerConfig;
use super::launch::PAUSE;
use super::machine::{Hardware, put_disks};
use super::place::{Place, VSOCK};
use super::snapshot::{Snapshot, load};
use super::{version, vsock};
use crate::guest::Leash;
use crate::link::{Link, socket_pair};
use crate::microvm::{
    Disks, Hypervisor, InitialFiles, Monitor, Order, Placeholders, Process, Shape, Shelf, Started,
};
use crate::network::MachineNetwork;
use crate::{CancelToken, Error, Layer, abandoned};

/// From the start to the guest's listening.
const BOOT_PATIENCE: Duration = Duration::from_mins(1);

/// A restored guest listens at once.
const RESTORE_PATIENCE: Duration = Duration::from_secs(10);

/// From a connection to the guest's word on it.
const WORD_PATIENCE: Duration = Duration::from_secs(1);

/// Firecracker writes all of a guest's memory into its snapshot. With more than this to write, a boot is soon over.
const SNAPSHOT_BYTES: u64 = 4 << 30;

/// What snapshots take of the disk.
const KEPT_BYTES: u64 = 16 << 30;

/// Firecracker as it starts machines.
#[derive(Debug)]
pub(crate) struct Firecracker {
    config: FirecrackerConfig,
    clock: Arc<dyn Clock>,
    initial: InitialFiles,
    snapshots: Shelf<Shape, Snapshot>,
    /// Why machines of a shape must boot. Held while a snapshot is taken: others wait meanwhile, they need it too, or its
    /// CPU time.
    impossible: Mutex<BTreeMap<Shape, String>>,
}

impl Firecracker {
    /// Checks the program's version and removes what a crash left.
    pub(crate) fn new(config: FirecrackerConfig, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let config = config.located()?;
        version::check(&config.program, config.jailer.as_deref())?;
        config.check_jail()?;
        abandoned::remove_directories(&config.work_dir)
            .map_err(|error| Error::host("cannot remove what is left of machines", error))?;
        Ok(Self {
            config,
            clock,
            initial: InitialFiles::default(),
            snapshots: Shelf::new(KEPT_BYTES),
            impossible: Mutex::default(),
        })
    }

    /// The snapshot of a shape, taken on first use, or why there is none.
    fn snapshot(&self, shape: Shape) -> Result<Arc<Snapshot>, String> {
        if shape.network {
            // A snapshot's device would have to be told of another tap device than its own.
            return Err("it has a network".to_owned());
        }
        if shape.memory_bytes > SNAPSHOT_BYTES {
            return Err("its memory is too large for a snapshot".to_owned());
        }
        let mut impossible = self.impossible();
        if let Some(why) = impossible.get(&shape) {
            return Err(why.clone());
        }
        if let Some(snapshot) = self.snapshots.find(&shape) {
            return Ok(snapshot);
        }
        match self.take_snapshot(shape).map(Arc::new) {
            Ok(snapshot) => {
                self.snapshots.keep(shape, &snapshot);
                Ok(snapshot)
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "no snapshot can be taken: machines boot"
                );
                impossible.insert(shape, error.to_string());
                Err(error.to_string())
            }
        }
    }

    fn impossible(&self) -> MutexGuard<'_, BTreeMap<Shape, String>> {
        self.impossible
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn take_snapshot(&self, shape: Shape) -> Result<Snapshot, Error> {
        let placeholders = Placeholders::create(&self.config.work_dir)?;
        let disks = placeholders.disks();
        let place = self.config.place()?;
        let hardware = self.hardware(shape, &disks)?;
        hardware.put_into(&place)?;
        let (process, mut api) =
            self.config
                .launch(&*self.clock, &place, Leash::default(), Stdio::null())?;
        hardware.start(&mut api)?;
        let monitor = self.reach(&place, process, &CancelToken::new()?, BOOT_PATIENCE)?;
        let snapshot = Snapshot::take(&mut api, place)?;
        drop(monitor);
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
        process: Process,
        order: &Order<'_>,
        patience: Duration,
        start: String,
    ) -> Result<Started, Error> {
        let monitor = self.reach(&place, process, order.cancel, patience)?;
        let layers = vec![jail_layer(&place), Layer::applied("start", start)];
        let monitor = monitor.keeping(Box::new(place));
        Ok(Started { monitor, layers })
    }

    /// Waits until the guest says that it is up. A restore resets connections, also one that came a moment too early, and
    /// nobody tells us: then there is another. Who talks to the guest of a machine that was canceled meanwhile sees the cancel.
    fn reach(
        &self,
        place: &Place,
        mut process: Process,
        cancel: &CancelToken,
        patience: Duration,
    ) -> Result<Monitor, Error> {
        let deadline = self.clock.monotonic() + patience;
        loop {
            let Some(socket) = self.connect(place, &mut process, cancel, deadline)? else {
                let (ours, silent) = socket_pair()?;
                return Ok(Monitor::new(process, Link::new(ours)?).keeping(Box::new(silent)));
            };
            let mut monitor = Monitor::new(process, Link::new(socket)?);
            match monitor.wait_until_up(WORD_PATIENCE, Some(cancel)) {
                Ok(()) => return Ok(monitor),
                Err(Error::Lost | Error::NotReady) if self.clock.monotonic() < deadline => {
                    process = monitor.hang_up();
                }
                Err(error) => return Err(monitor.explain(error)),
            }
        }
    }

    /// Waits until the guest listens. `None` means that it was canceled meanwhile.
    fn connect(
        &self,
        place: &Place,
        process: &mut Process,
        cancel: &CancelToken,
        deadline: Millis,
    ) -> Result<Option<UnixStream>, Error> {
        loop {
            let connected = vsock::connect(&place.socket(VSOCK), VSOCK_PORT, cancel)
                .map_err(|error| Error::host("cannot connect to the guest", error))?;
            if let Some(socket) = connected {
                return Ok(Some(socket));
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
                return Ok(None);
            }
            let mut fds = [PollFd::new(cancel, PollFlags::IN)];
            // Interrupted or not, the next attempt follows.
            let _ = poll(&mut fds, Some(&PAUSE));
        }
    }
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
        // Without a snapshot machines boot, which is slower and as good.
        let _ = self.snapshot(shape);
        Ok(())
    }

    fn start(&self, order: &Order<'_>) -> Result<Started, Error> {
        if !order.disks.fit_placeholders() {
            return self.boot(order, "its disk is too large for a snapshot");
        }
        let why = match self.snapshot(order.shape) {
            Err(why) => why,
            Ok(snapshot) => match self.restore(&snapshot, order) {
                Ok(started) => return Ok(started),
                Err(error) => {
                    let why = format!("the snapshot cannot be loaded: {error}");
                    tracing::warn!("{why}");
                    self.impossible().insert(order.shape, why.clone());
                    self.snapshots.give_up(&order.shape);
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
