//! The controllers and how their limits are written, in v2 and in v1.

use std::io;
use std::path::Path;

use super::files::{number, write};
use crate::{ChamberSpec, Layer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    Memory,
    Cpu,
    Pids,
    /// Counts CPU time in v1; in v2 every group does.
    CpuAccounting,
}

/// How often the kernel refills a group's share of CPU time, unless it is told otherwise.
const CPU_PERIOD_MICROS: u64 = 100_000;

impl Controller {
    /// Those that enforce a limit of the spec.
    pub(super) const LIMITING: [Self; 3] = [Self::Memory, Self::Cpu, Self::Pids];

    /// Those of a v1 host that a group needs a directory in.
    pub(super) const V1: [Self; 4] = [Self::Memory, Self::Cpu, Self::Pids, Self::CpuAccounting];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
            Self::CpuAccounting => "cpuacct",
        }
    }

    /// Sets the spec's limits in a group and says what is now in effect.
    pub(super) fn limit(self, group: &Path, version: Version, spec: &ChamberSpec) -> Vec<Layer> {
        match self {
            Self::Memory => vec![memory(group, version, spec), swap(group, version, spec)],
            Self::Cpu => vec![cpu(group, version, spec)],
            Self::Pids => vec![layer(
                "pids",
                &format!("{} processes", spec.processes),
                write(group, "pids.max", &spec.processes.to_string()),
            )],
            Self::CpuAccounting => Vec::new(),
        }
    }
}

fn memory(group: &Path, version: Version, spec: &ChamberSpec) -> Layer {
    let file = match version {
        Version::V1 => "memory.limit_in_bytes",
        Version::V2 => "memory.max",
    };
    layer(
        "memory",
        &format!("{} bytes", spec.memory_bytes),
        write(group, file, &spec.memory_bytes.to_string()),
    )
}

fn swap(group: &Path, version: Version, spec: &ChamberSpec) -> Layer {
    let written = match version {
        Version::V1 => {
            let both = spec.memory_bytes.saturating_add(spec.swap_bytes);
            write(group, "memory.memsw.limit_in_bytes", &both.to_string())
        }
        Version::V2 => write(group, "memory.swap.max", &spec.swap_bytes.to_string()),
    };
    match written {
        Err(_) if !host_has_swap() => Layer::applied("swap", "the host has none"),
        written => layer("swap", &format!("{} bytes", spec.swap_bytes), written),
    }
}

fn cpu(group: &Path, version: Version, spec: &ChamberSpec) -> Layer {
    let quota = u64::from(spec.cpus) * CPU_PERIOD_MICROS;
    let written = match version {
        Version::V1 => write(group, "cpu.cfs_quota_us", &quota.to_string()),
        Version::V2 => write(group, "cpu.max", &format!("{quota} {CPU_PERIOD_MICROS}")),
    };
    layer("cpu", &format!("{} CPUs", spec.cpus), written)
}

fn layer(name: &str, detail: &str, written: io::Result<()>) -> Layer {
    match written {
        Ok(()) => Layer::applied(name, detail),
        Err(error) => Layer::missing(name, error.to_string()),
    }
}

fn host_has_swap() -> bool {
    let total =
        std::fs::read_to_string("/proc/swaps").map_or(1, |swaps| swaps.lines().skip(1).count());
    total > 0
}

/// Whether a v1 group ever met its memory limit; for kernels that do not count kills.
pub(super) fn met_memory_limit(group: &Path) -> bool {
    number(group, "memory.failcnt").is_some_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A group with these control files, all empty.
    fn group(files: &[&str]) -> tempfile::TempDir {
        let group = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(group.path().join(file), "").unwrap();
        }
        group
    }

    fn read(group: &tempfile::TempDir, file: &str) -> String {
        fs::read_to_string(group.path().join(file)).unwrap()
    }

    fn spec() -> ChamberSpec {
        ChamberSpec {
            cpus: 2,
            memory_bytes: 1000,
            swap_bytes: 24,
            processes: 7,
            ..ChamberSpec::default()
        }
    }

    #[test]
    fn v2_limits_are_written_as_v2_has_them() {
        let group = group(&["memory.max", "memory.swap.max", "cpu.max", "pids.max"]);
        for controller in Controller::LIMITING {
            let layers = controller.limit(group.path(), Version::V2, &spec());
            assert!(layers.iter().all(|layer| layer.applied), "{layers:?}");
        }
        assert_eq!(read(&group, "memory.max"), "1000");
        assert_eq!(read(&group, "memory.swap.max"), "24");
        assert_eq!(read(&group, "cpu.max"), "200000 100000");
        assert_eq!(read(&group, "pids.max"), "7");
    }

    #[test]
    fn v1_swap_is_limited_together_with_memory() {
        let group = group(&["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]);
        Controller::Memory.limit(group.path(), Version::V1, &spec());
        assert_eq!(read(&group, "memory.limit_in_bytes"), "1000");
        assert_eq!(read(&group, "memory.memsw.limit_in_bytes"), "1024");
    }

    #[test]
    fn v1_cpu_time_is_a_quota_per_period() {
        let group = group(&["cpu.cfs_quota_us"]);
        Controller::Cpu.limit(group.path(), Version::V1, &spec());
        assert_eq!(read(&group, "cpu.cfs_quota_us"), "200000");
    }

    #[test]
    fn a_limit_that_cannot_be_written_is_reported_as_missing() {
        let layers = Controller::Pids.limit(group(&[]).path(), Version::V2, &spec());
        assert!(!layers[0].applied);
    }
}
