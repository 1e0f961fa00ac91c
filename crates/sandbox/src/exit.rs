//! How a run ended.

use std::time::Duration;

use kiln_guest_init::protocol::{FileOutcome, Layer, Status};
use kiln_model::v0::{CpuSample, Frequency, Pressure};

/// The end of a run, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    pub outcome: Outcome,
    pub usage: Usage,
    pub stdout: StreamEnd,
    pub stderr: StreamEnd,
    /// In the order in which they were asked for.
    pub files: Vec<CollectedFile>,
    pub sealed: Sealed,
    /// From the command's start to the news of its end, by the host's clock.
    pub wall: Duration,
}

impl Exit {
    /// The exit code of a command that ended by itself.
    pub fn code(&self) -> Option<i32> {
        match self.outcome {
            Outcome::Exited(code) => Some(code),
            Outcome::Signaled(_)
            | Outcome::TimedOut
            | Outcome::Canceled
            | Outcome::OutOfMemory
            | Outcome::DiskFull(_) => None,
        }
    }
}

/// Why the command is no longer running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Exited(i32),
    Signaled(i32),
    TimedOut,
    Canceled,
    /// The kernel killed a process of the chamber at its memory limit, and the command failed.
    OutOfMemory,
    /// The command failed, with this code as shells put it, and there was no room on its disk at its end or as it wrote
    /// to stderr.
    DiskFull(i32),
}

impl Outcome {
    /// What a command's own status means when the kernel has killed `oom_kills` processes at the memory limit, and when
    /// there was no room left on its disk.
    pub(crate) fn of(status: Status, oom_kills: u64, disk_full: bool) -> Self {
        match status {
            Status::Code(0) => Self::Exited(0),
            Status::Code(_) | Status::Signal(_) if oom_kills > 0 => Self::OutOfMemory,
            Status::Code(code) if disk_full => Self::DiskFull(code),
            Status::Signal(signal) if disk_full => Self::DiskFull(128 + signal),
            Status::Code(code) => Self::Exited(code),
            Status::Signal(signal) => Self::Signaled(signal),
        }
    }
}

/// What the run used. A figure is `None` where this host does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// From exec to end, by the guest's clock.
    pub elapsed: Duration,
    pub user: Duration,
    pub system: Duration,
    /// Of the largest process.
    pub peak_resident_bytes: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Of the whole chamber, its written files included.
    pub peak_memory_bytes: Option<u64>,
    /// CPU time of the whole chamber, its first process and everything killed included.
    pub chamber_cpu: Option<Duration>,
    /// Time it wanted to run but had used up its share of CPUs.
    pub throttled: Option<Duration>,
    /// Processes the kernel killed at the memory limit.
    pub oom_kills: Option<u64>,
    /// Time a hypervisor gave to others while this host wanted to run, over all CPUs.
    pub steal: Option<Duration>,
    pub pressure: Option<Pressure>,
    pub frequency: Option<Frequency>,
    /// CPU time used so far, from time to time.
    pub cpu_samples: Vec<CpuSample>,
}

/// How much came out of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamEnd {
    /// Given to the sink.
    pub bytes: u64,
    /// Written beyond the limit, and lost.
    pub dropped: u64,
}

impl StreamEnd {
    pub fn truncated(&self) -> bool {
        self.dropped > 0
    }
}

/// A file from the chamber, or why it did not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectedFile {
    pub path: String,
    pub bytes: Vec<u8>,
    pub outcome: FileOutcome,
}

/// Which layers of isolation and which limits were in effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sealed {
    pub layers: Vec<Layer>,
}

impl Sealed {
    pub fn layer(&self, name: &str) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    pub fn missing(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|layer| !layer.applied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_after_an_oom_kill_is_called_out_of_memory() {
        assert_eq!(
            Outcome::of(Status::Signal(9), 1, false),
            Outcome::OutOfMemory
        );
        assert_eq!(
            Outcome::of(Status::Code(137), 2, true),
            Outcome::OutOfMemory
        );
    }

    #[test]
    fn a_success_in_spite_of_an_oom_kill_is_a_success() {
        assert_eq!(Outcome::of(Status::Code(0), 1, true), Outcome::Exited(0));
    }

    #[test]
    fn a_failure_on_a_full_disk_is_called_so() {
        assert_eq!(Outcome::of(Status::Code(1), 0, true), Outcome::DiskFull(1));
    }

    #[test]
    fn without_an_oom_kill_a_status_is_what_it_is() {
        assert_eq!(Outcome::of(Status::Code(3), 0, false), Outcome::Exited(3));
        assert_eq!(
            Outcome::of(Status::Signal(9), 0, false),
            Outcome::Signaled(9)
        );
    }
}
