//! Bounds inside the machine: what runs in the chamber must leave room for the process that reports on it.

use std::fs;

use kiln_guest_init::protocol::{Machine, Stage};
use rustix::mount::{MountFlags, mount};

use crate::fault::{At, Fault};

const GROUPS: &str = "/sys/fs/cgroup";
const CHAMBER: &str = "/sys/fs/cgroup/chamber";

/// Where that group's most memory is counted, by kernels from 5.19 on.
pub(crate) const MEMORY_PEAK: &str = "/sys/fs/cgroup/chamber/memory.peak";

/// Puts the launcher, and with it everything it will start, into a group of its own.
pub(super) fn confine(launcher: u32) -> Result<(), Fault> {
    mount("cgroup2", GROUPS, "cgroup2", MountFlags::empty(), None).at(Stage::Boot, || {
        "the guest kernel has no control groups (CONFIG_CGROUPS)".into()
    })?;
    write(GROUPS, "cgroup.subtree_control", "+memory +pids")?;
    fs::create_dir(CHAMBER).at(Stage::Boot, || "cannot make a control group".into())?;
    write(CHAMBER, "cgroup.procs", &launcher.to_string())
}

/// Bounds that group.
pub(super) fn apply(machine: &Machine) -> Result<(), Fault> {
    write(CHAMBER, "pids.max", &machine.processes.to_string())?;
    write(CHAMBER, "memory.max", &machine.memory_bytes.to_string())
}

fn write(group: &str, file: &str, value: &str) -> Result<(), Fault> {
    fs::write(format!("{group}/{file}"), value).at(Stage::Boot, || {
        format!("the guest kernel refuses {value} for {file}")
    })
}
