//! Time that a hypervisor gave to others.

use std::time::Duration;

use crate::kernel_file::KernelFile;

/// `USER_HZ`: the unit of `/proc/stat`, the same on every architecture we run on.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// Where the kernel tells it.
#[derive(Debug)]
pub(crate) struct Steal(KernelFile);

impl Steal {
    pub(crate) fn open() -> Option<Self> {
        KernelFile::open("/proc/stat").ok().map(Self)
    }

    /// What was stolen from all CPUs since boot.
    pub(crate) fn so_far(&self) -> Option<Duration> {
        parse(&self.0.read().ok()?)
    }
}

/// `cpu user nice system idle iowait irq softirq steal …`
fn parse(stat: &str) -> Option<Duration> {
    let all_cpus = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: u32 = all_cpus.split_ascii_whitespace().nth(7)?.parse().ok()?;
    Some(TICK * ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_figure() {
        let stat = "cpu  10 20 30 40 50 60 70 80 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!(parse(stat), Some(Duration::from_millis(800)));
    }

    #[test]
    fn a_kernel_that_does_not_count_it_tells_nothing() {
        assert_eq!(parse("cpu  10 20 30 40\n"), None);
    }

    #[test]
    fn this_host_tells() {
        assert!(Steal::open().unwrap().so_far().is_some());
    }
}
