//! What a group's processes have used, from the files of either version.

use std::time::Duration;

use super::controller::{Controller, Version, met_memory_limit};
use super::files::{keyed_number, number};
use super::group::Part;

/// Figures of a whole group; `None` where the host does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupUsage {
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) cpu: Option<Duration>,
    pub(crate) throttled: Option<Duration>,
    pub(crate) oom_kills: Option<u64>,
}

impl GroupUsage {
    pub(super) fn read(parts: &[Part]) -> Self {
        let mut usage = Self::default();
        for part in parts {
            match (part.controller, part.version) {
                (Controller::Memory, Version::V1) => {
                    usage.peak_memory_bytes = number(&part.path, "memory.max_usage_in_bytes");
                    // Kernels before 4.13 do not count kills; one that met its limit most likely was killed for it.
                    usage.oom_kills = keyed_number(&part.path, "memory.oom_control", "oom_kill")
                        .or_else(|| Some(u64::from(met_memory_limit(&part.path))));
                }
                (Controller::Memory, Version::V2) => {
                    usage.peak_memory_bytes = number(&part.path, "memory.peak");
                    usage.oom_kills = keyed_number(&part.path, "memory.events", "oom_kill");
                }
                (Controller::Cpu, Version::V1) => {
                    usage.throttled = keyed_number(&part.path, "cpu.stat", "throttled_time")
                        .map(Duration::from_nanos);
                }
                (Controller::Cpu, Version::V2) => {
                    usage.cpu = keyed_number(&part.path, "cpu.stat", "usage_usec")
                        .map(Duration::from_micros);
                    usage.throttled = keyed_number(&part.path, "cpu.stat", "throttled_usec")
                        .map(Duration::from_micros);
                }
                (Controller::CpuAccounting, _) => {
                    usage.cpu = number(&part.path, "cpuacct.usage").map(Duration::from_nanos);
                }
                (Controller::Pids, _) => {}
            }
        }
        usage
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(controller: Controller, version: Version, files: &[(&str, &str)]) -> GroupUsage {
        let group = tempfile::tempdir().unwrap();
        for (file, content) in files {
            fs::write(group.path().join(file), content).unwrap();
        }
        GroupUsage::read(&[Part {
            controller,
            version,
            path: group.path().to_owned(),
        }])
    }

    #[test]
    fn v2_memory_tells_its_peak_and_its_kills() {
        let files = [
            ("memory.peak", "4096\n"),
            ("memory.events", "low 0\noom 1\noom_kill 2\n"),
        ];
        let usage = read(Controller::Memory, Version::V2, &files);
        assert_eq!(
            (usage.peak_memory_bytes, usage.oom_kills),
            (Some(4096), Some(2))
        );
    }

    #[test]
    fn v1_memory_tells_its_peak_and_its_kills() {
        let files = [
            ("memory.max_usage_in_bytes", "8192\n"),
            (
                "memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
            ),
        ];
        let usage = read(Controller::Memory, Version::V1, &files);
        assert_eq!(
            (usage.peak_memory_bytes, usage.oom_kills),
            (Some(8192), Some(3))
        );
    }

    #[test]
    fn an_old_kernels_failures_stand_for_its_kills() {
        let files = [
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n"),
            ("memory.failcnt", "12\n"),
        ];
        assert_eq!(
            read(Controller::Memory, Version::V1, &files).oom_kills,
            Some(1)
        );
    }

    #[test]
    fn throttling_is_told_in_the_units_of_each_version() {
        let v1 = read(
            Controller::Cpu,
            Version::V1,
            &[("cpu.stat", "nr_periods 9\nthrottled_time 5000\n")],
        );
        let v2 = read(
            Controller::Cpu,
            Version::V2,
            &[("cpu.stat", "usage_usec 9\nthrottled_usec 5\n")],
        );
        assert_eq!(v1.throttled, Some(Duration::from_micros(5)));
        assert_eq!(v2.throttled, Some(Duration::from_micros(5)));
    }

    #[test]
    fn cpu_time_is_told_in_the_units_of_each_version() {
        let v1 = read(
            Controller::CpuAccounting,
            Version::V1,
            &[("cpuacct.usage", "7000\n")],
        );
        let v2 = read(
            Controller::Cpu,
            Version::V2,
            &[("cpu.stat", "usage_usec 7\n")],
        );
        assert_eq!(v1.cpu, Some(Duration::from_micros(7)));
        assert_eq!(v2.cpu, Some(Duration::from_micros(7)));
    }
}
