//! What a runner tells about its machine.

use std::fs;
use std::thread;

use kiln_model::v0::{HostFacts, Isolation};

/// The facts of this host, whose jobs have this isolation from a back end. What cannot be found out is left empty.
pub fn host_facts(isolation: Option<Isolation>, backend: &str) -> HostFacts {
    let line = |path: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.trim().to_owned()
    };
    let cpus = thread::available_parallelism().map_or(0, std::num::NonZero::get);
    HostFacts {
        name: line("/proc/sys/kernel/hostname"),
        kernel: line("/proc/sys/kernel/osrelease"),
        cpus: cpus as u64,
        memory_bytes: memory_bytes(&line("/proc/meminfo")),
        isolation: isolation_name(isolation),
        backend: backend.to_owned(),
    }
}

/// How far jobs are kept from their host, in one word.
pub(crate) fn isolation_name(isolation: Option<Isolation>) -> String {
    isolation.map_or("none", Isolation::name).to_owned()
}

fn memory_bytes(meminfo: &str) -> u64 {
    let total = meminfo.lines().find_map(|line| {
        let kibibytes = line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?;
        kibibytes.trim().parse::<u64>().ok()
    });
    total.map_or(0, |kibibytes| kibibytes * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_kernels_table() {
        let table = "MemTotal:        2048 kB\nMemFree:          512 kB\n";
        assert_eq!(memory_bytes(table), 2 << 20);
        assert_eq!(memory_bytes("nothing"), 0);
    }

    #[test]
    fn this_host_has_a_kernel_and_a_processor() {
        let facts = host_facts(None, "process");
        assert!(!facts.kernel.is_empty() && facts.cpus > 0 && facts.memory_bytes > 0);
        assert_eq!((&*facts.isolation, &*facts.backend), ("none", "process"));
    }
}
