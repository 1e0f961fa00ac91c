//! What starts machines, and what it is told about one.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use kiln_model::v0::Isolation;

use super::file::HiddenFile;
use super::monitor::Monitor;
use super::shelf::Weighed;
use crate::cgroup::Group;
use crate::network::MachineNetwork;
use crate::{CancelToken, ChamberSpec, Error, Layer};

/// What the guest's kernel and PID 1 need beyond the chamber's own memory.
const GUEST_RESERVE_BYTES: u64 = 96 << 20;

/// What the monitor needs beyond the guest's memory.
pub(crate) const MONITOR_BYTES: u64 = 256 << 20;

/// Threads of a monitor beyond one for each CPU of the guest, and processes that hold it.
const MONITOR_THREADS: u32 = 64;

/// Machines are sized in whole pieces of this.
const MEMORY_STEP_BYTES: u64 = 2 << 20;

/// What starts machines.
pub(crate) trait Hypervisor: Send + Sync + fmt::Debug {
    /// The name in configuration and results.
    fn name(&self) -> &'static str;

    /// How far its machines keep their guests from the host.
    fn isolation(&self) -> Isolation;

    /// Makes what can be made ahead of the first machine of a shape.
    fn warm_up(&self, shape: Shape) -> Result<(), Error>;

    /// Starts a machine. Its guest may still be booting.
    fn start(&self, order: &Order<'_>) -> Result<Started, Error>;

    /// Starts a machine, has somebody talk to its guest, and writes it down as it is then. `None` if there is no way to
    /// do that, or if nothing came of the talk.
    fn write_down(
        &self,
        _order: &Order<'_>,
        _talk: &mut dyn FnMut(&mut Monitor) -> Result<Talked, Error>,
    ) -> Result<Option<WrittenDown>, Error> {
        Ok(None)
    }

    /// What a machine may take of the host's memory.
    fn memory_bytes(&self, shape: Shape) -> u64 {
        shape.memory_bytes + MONITOR_BYTES
    }

    /// What kind of machines they are, for results.
    fn layers(&self) -> Vec<Layer>;

    /// Where disks of runs are made.
    fn work_dir(&self) -> &Path;
}

/// What came of a talk with a guest that is to be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talked {
    /// It is as it should be.
    Done,
    /// Somebody does not want it any more.
    Broken,
}

/// A machine that was stopped and written down, for others to go on from there.
#[derive(Debug)]
pub(crate) struct WrittenDown {
    pub(crate) memory: HiddenFile,
    pub(crate) state: HiddenFile,
    /// The parts of the memory that its guest had used.
    used: Vec<Range<u64>>,
}

impl WrittenDown {
    pub(crate) fn new(memory: HiddenFile, state: HiddenFile) -> Result<Self, Error> {
        Ok(Self {
            used: memory.data()?,
            memory,
            state,
        })
    }

    /// Gives back what machines that went on from here have added: where one of them touches memory that this one never
    /// did, the kernel puts a page of zeros here before it gives that machine a page of its own.
    pub(crate) fn shed(&self) {
        if let Err(error) = self.memory.keep_only(&self.used) {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a template takes more memory than it needs"
            );
        }
    }
}

impl Weighed for WrittenDown {
    fn bytes(&self) -> u64 {
        self.memory.allocated_bytes() + self.state.allocated_bytes()
    }
}

/// A machine on its way up.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) monitor: Monitor,
    /// How this one came to life, for its result.
    pub(crate) layers: Vec<Layer>,
}

/// What decides whether two machines can come from one template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    pub(crate) cpus: u32,
    pub(crate) memory_bytes: u64,
    /// Whether it has a network device.
    pub(crate) network: bool,
}

impl Shape {
    pub(super) fn of(spec: &ChamberSpec) -> Self {
        Self {
            cpus: spec.cpus,
            memory_bytes: (spec.memory_bytes + GUEST_RESERVE_BYTES)
                .next_multiple_of(MEMORY_STEP_BYTES),
            network: spec.network,
        }
    }

    /// The limits of the monitor's own group.
    pub(super) fn monitor_spec(self, spec: &ChamberSpec, memory_bytes: u64) -> ChamberSpec {
        ChamberSpec {
            memory_bytes,
            processes: self.cpus + MONITOR_THREADS,
            ..spec.clone()
        }
    }
}

/// The disks of one machine, by paths that processes of this user can open.
#[derive(Clone, Debug)]
pub(crate) struct Disks {
    pub(crate) base: String,
    pub(crate) scratch: String,
}

/// One machine to be started.
pub(crate) struct Order<'a> {
    pub(crate) shape: Shape,
    /// What it goes on from, if it is not the shape's own beginning. Its disks must be as they were there.
    pub(crate) from: Option<&'a Arc<WrittenDown>>,
    pub(crate) disks: &'a Disks,
    pub(crate) group: &'a Group,
    pub(crate) cancel: &'a CancelToken,
    /// The cores its monitor keeps to; any if empty.
    pub(crate) cores: &'a [u32],
    /// The network behind the device, where the shape has one.
    pub(crate) network: Option<&'a MachineNetwork<'a>>,
}
