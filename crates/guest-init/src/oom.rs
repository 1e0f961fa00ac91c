//! How many processes the kernel has killed for want of memory since it started.

use std::fs;

/// Zero where the kernel does not tell.
pub(crate) fn kills() -> u64 {
    let counters = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    counters
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill "))
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}
