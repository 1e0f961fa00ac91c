//! A control group that has the benchmark cores to itself. No other process of the host is scheduled on them, and an isolated
//! one is left alone by the scheduler's balancing too.
//!
//! Only a group right below the root can be a partition on every kernel, so that is where it is: the groups of runs are made
//! below it, not below the runner's own.

use std::fs;
use std::io;

use super::files::{HostFiles, exists};
use crate::cgroup::{fresh_name, remove_directory, sweep_below};

/// Where hosts with version 2 only have their tree.
const ROOT: &str = "/sys/fs/cgroup";

/// What a group of ours has to be handed down.
const CONTROLLERS: [&str; 4] = ["cpuset", "cpu", "memory", "pids"];

/// What a group is that is no partition.
pub(super) const ORDINARY: &str = "member";

/// The group, by its path on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    group: String,
}

impl Partition {
    /// Makes the group, which is no partition yet. `None` where the host has no such thing; the error says what is missing
    /// for it.
    pub(super) fn prepare(files: &HostFiles) -> io::Result<Option<Self>> {
        if !exists(&files.path(&format!("{ROOT}/cgroup.controllers"))) {
            return Ok(None);
        }
        let handed_down = files.read(&format!("{ROOT}/cgroup.subtree_control"))?;
        let has = |name: &&str| {
            handed_down
                .split_ascii_whitespace()
                .any(|word| word == *name)
        };
        let missing: Vec<&str> = CONTROLLERS.into_iter().filter(|name| !has(name)).collect();
        if !missing.is_empty() {
            let missing = missing.join(" +");
            let fix = format!("echo +{missing} > {ROOT}/cgroup.subtree_control");
            return Err(io::Error::other(format!("not handed down: {fix}")));
        }
        // What a killed process left there has the same cores.
        sweep_below(&files.path(ROOT)).map_err(io::Error::other)?;
        let name = fresh_name().ok_or_else(|| io::Error::other("no /proc/self/stat"))?;
        let partition = Self {
            group: format!("{ROOT}/{name}"),
        };
        let group = files.path(&partition.group);
        match fs::create_dir(&group) {
            // This process made it before it became this program; nobody is in it any more.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_directory(&group)?;
                fs::create_dir(&group)?;
            }
            made => made?,
        }
        Ok(Some(partition))
    }

    pub(super) fn group(&self) -> &str {
        &self.group
    }

    pub(super) fn cores_file(&self) -> String {
        format!("{}/cpuset.cpus", self.group)
    }

    pub(super) fn kind_file(&self) -> String {
        format!("{}/cpuset.cpus.partition", self.group)
    }

    /// Gives the cores back to everybody.
    pub(super) fn remove(&self, files: &HostFiles) -> io::Result<()> {
        remove_directory(&files.path(&self.group))
    }
}
