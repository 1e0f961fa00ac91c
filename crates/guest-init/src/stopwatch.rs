//! How long the command ran, by the clock next to it: the host's view includes two wake-ups and a socket.

use std::io;

use rustix::time::{ClockId, clock_gettime};

use crate::sys::SharedNumber;

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Begins to run when the child that will be the command says so, however late its parent hears of that: a CPU may be busy
/// with the end of the chamber before.
#[derive(Debug)]
pub(crate) struct Stopwatch(SharedNumber);

impl Stopwatch {
    /// To be made before the fork.
    pub(crate) fn new() -> io::Result<Self> {
        find_clock();
        SharedNumber::new().map(Self)
    }

    pub(crate) fn start(&self) {
        self.0.set(now());
    }

    /// Zero if it was never started.
    pub(crate) fn elapsed_nanos(&self) -> u64 {
        match self.0.get() {
            0 => 0,
            began => now().saturating_sub(began),
        }
    }
}

/// Has the first look at the clock, which takes longer than all others: a process finds out where its kernel has it, and its
/// children know.
pub(crate) fn find_clock() {
    now();
}

fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let nanos = now.tv_sec * NANOS_PER_SECOND + now.tv_nsec;
    u64::try_from(nanos).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{self, Fork};

    #[test]
    fn a_child_starts_its_parents_watch() {
        let watch = Stopwatch::new().unwrap();
        assert_eq!(watch.elapsed_nanos(), 0);
        match sys::fork().unwrap() {
            Fork::Child => {
                watch.start();
                sys::exit_now(0)
            }
            Fork::Parent(child) => {
                rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty())
                    .unwrap();
            }
        }
        let first = watch.elapsed_nanos();
        assert!(first > 0);
        assert!(watch.elapsed_nanos() >= first);
    }
}
