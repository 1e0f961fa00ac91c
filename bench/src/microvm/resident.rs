//! What a monitor has in memory for itself.

use std::fs;

/// Of the QEMU that this process has started; `None` if there is none.
pub(super) fn mebibytes_of_qemu() -> Option<f64> {
    let threads = fs::read_dir("/proc/self/task").ok()?;
    let children: String = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .collect();
    children
        .split_ascii_whitespace()
        .find(|pid| {
            fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.starts_with("qemu-system"))
        })
        .and_then(|pid| fs::read_to_string(format!("/proc/{pid}/smaps")).ok())
        .map(|smaps| without_the_largest(&smaps))
}

/// All that is resident, less the largest mapping: the guest's own memory.
fn without_the_largest(smaps: &str) -> f64 {
    let kibibytes = |line: &str, key: &str| -> Option<f64> {
        let value = line.strip_prefix(key)?.trim().strip_suffix(" kB")?;
        value.parse().ok()
    };
    let sizes = smaps.lines().filter_map(|line| kibibytes(line, "Size:"));
    let resident = smaps.lines().filter_map(|line| kibibytes(line, "Rss:"));
    let mappings: Vec<(f64, f64)> = sizes.zip(resident).collect();
    let all: f64 = mappings.iter().map(|(_, resident)| resident).sum();
    let largest = mappings
        .iter()
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map_or(0.0, |(_, resident)| *resident);
    (all - largest) / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guests_memory_does_not_count() {
        let smaps = "a\nSize: 4096 kB\nRss: 2048 kB\nb\nSize: 1000000 kB\nRss: 500000 kB\n";
        assert!((without_the_largest(smaps) - 2.0).abs() < f64::EPSILON);
    }
}
