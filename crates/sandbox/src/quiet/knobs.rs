//! The settings of a host that disturb measurements, and what they should be.

/// One setting.
#[derive(Debug)]
pub(super) struct KnobFile {
    pub(super) name: &'static str,
    pub(super) place: Place,
    pub(super) wanted: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    File(&'static str),
    /// Below the directory of each CPU.
    EachCpu(&'static str),
}

const fn file(name: &'static str, path: &'static str, wanted: &'static str) -> KnobFile {
    KnobFile {
        name,
        place: Place::File(path),
        wanted,
    }
}

/// In the order in which they are made; undone backwards. SMT comes first: it decides which CPUs there are.
pub(super) const KNOBS: &[KnobFile] = &[
    // Siblings share a core's units: one disturbs the other.
    file("smt", "/sys/devices/system/cpu/smt/control", "off"),
    // The clock would depend on heat.
    file(
        "turbo",
        "/sys/devices/system/cpu/intel_pstate/no_turbo",
        "1",
    ),
    file("turbo", "/sys/devices/system/cpu/cpufreq/boost", "0"),
    // The clock would depend on load.
    KnobFile {
        name: "governor",
        place: Place::EachCpu("cpufreq/scaling_governor"),
        wanted: "performance",
    },
    // Addresses decide cache conflicts, differently in each run.
    file("aslr", "/proc/sys/kernel/randomize_va_space", "0"),
    // Interrupts, and a hardware counter that benchmarks may want.
    file("nmi-watchdog", "/proc/sys/kernel/nmi_watchdog", "0"),
    // A wake-up on every core, all the time.
    file("soft-watchdog", "/proc/sys/kernel/soft_watchdog", "0"),
    // Paging out what a benchmark will want again.
    file("swappiness", "/proc/sys/vm/swappiness", "10"),
    // Hardware counters can be read beside a benchmark; a chamber refuses them all the same.
    file(
        "perf-event-paranoid",
        "/proc/sys/kernel/perf_event_paranoid",
        "-1",
    ),
    // Pages are unmapped to find out who uses them.
    file("numa-balancing", "/proc/sys/kernel/numa_balancing", "0"),
    // Timers of other cores come to idle ones.
    file("timer-migration", "/proc/sys/kernel/timer_migration", "0"),
    // Pages are scanned for equal ones.
    file("ksm", "/sys/kernel/mm/ksm/run", "0"),
    // Memory is compacted in the background, and faults take as long as there are pages to be found.
    file(
        "thp",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "never",
    ),
    file(
        "thp-defrag",
        "/sys/kernel/mm/transparent_hugepage/defrag",
        "never",
    ),
];
