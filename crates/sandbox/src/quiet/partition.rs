//! A control group that has the benchmark cores to itself. No other process of the host is scheduled on them, and an isolated
//! one is left alone by the scheduler's balancing too.
//!
//! Only a group right below the root can be a partition on every kernel, so that is where it is: the groups of runs are made
//! below it, not below the runner's own.

use std::fs;
use std::io;

use super::files::{HostFiles, exists};
use super::interrupts::list;
use crate::cgroup::{fresh_name, remove_directory, sweep_below};

/// Where hosts with version 2 only have their tree.
const ROOT: &str = "/sys/fs/cgroup";

/// What a group of ours has to be handed down.
const CONTROLLERS: [&str; 4] = ["cpuset", "cpu", "memory", "pids"];

/// What a group is that is no partition: its processes keep to its cores, and others may be there too.
pub(super) const ORDINARY: &str = "member";

/// What a group can be, from the strongest on.
const KINDS: [&str; 3] = ["isolated", "root", ORDINARY];

/// What to try, one after another, if this is wanted.
pub(super) fn kinds_from(wanted: &str) -> Vec<&str> {
    let place = KINDS.iter().position(|kind| *kind == wanted);
    match place {
        Some(place) => KINDS[place..].to_vec(),
        None => std::iter::once(wanted).chain(KINDS).collect(),
    }
}

/// The group, by its path on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    group: String,
    kind: String,
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
            kind: ORDINARY.to_owned(),
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

    /// What it was made.
    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    pub(super) fn kind_file(&self) -> String {
        format!("{}/cpuset.cpus.partition", self.group)
    }

    /// Gives it its cores, and memory where it does not have its parent's already.
    pub(super) fn give_cores(&self, files: &HostFiles, cores: &[u32]) -> io::Result<()> {
        let file = |name: &str| format!("{}/{name}", self.group);
        files.write(&file("cpuset.cpus"), &list(cores))?;
        let has_memory = files
            .read(&file("cpuset.mems.effective"))
            .is_ok_and(|nodes| !nodes.is_empty());
        if !has_memory {
            let nodes = files.read(&format!("{ROOT}/cpuset.mems.effective"))?;
            files.write(&file("cpuset.mems"), &nodes)?;
        }
        Ok(())
    }

    /// Makes it a partition of this kind, or ordinary, and looks whether it is one and has its cores.
    pub(super) fn become_kind(&mut self, files: &HostFiles, kind: &str) -> io::Result<()> {
        files.write(&self.kind_file(), kind)?;
        let now = files.read(&self.kind_file())?;
        if now != kind {
            return Err(io::Error::other(format!("it reads {now}")));
        }
        let given = files.read(&format!("{}/cpuset.cpus", self.group))?;
        let has = files.read(&format!("{}/cpuset.cpus.effective", self.group))?;
        if given != has {
            return Err(io::Error::other(format!("it has cores {has} of {given}")));
        }
        kind.clone_into(&mut self.kind);
        Ok(())
    }

    /// Gives the cores back to everybody.
    pub(super) fn remove(&self, files: &HostFiles) -> io::Result<()> {
        remove_directory(&files.path(&self.group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_refused_is_followed_by_weaker_ones() {
        assert_eq!(kinds_from("isolated"), ["isolated", "root", "member"]);
        assert_eq!(kinds_from("root"), ["root", "member"]);
    }

    /// A group of an ordinary file system, where everything reads as it was written.
    fn group(files: &[(&str, &str)]) -> (tempfile::TempDir, HostFiles, Partition) {
        let root = tempfile::tempdir().unwrap();
        let host = HostFiles::new(root.path());
        let partition = Partition {
            group: format!("{ROOT}/ours"),
            kind: ORDINARY.to_owned(),
        };
        fs::create_dir_all(host.path(&partition.group)).unwrap();
        for (name, content) in files {
            fs::write(host.path(&format!("{ROOT}/{name}")), content).unwrap();
        }
        (root, host, partition)
    }

    #[test]
    fn a_partition_that_has_not_its_cores_is_none() {
        let (_root, host, mut partition) = group(&[
            ("ours/cpuset.cpus.partition", "member\n"),
            ("ours/cpuset.cpus", "1-3\n"),
            ("ours/cpuset.cpus.effective", "1-2\n"),
        ]);
        let error = partition.become_kind(&host, "isolated").unwrap_err();
        assert!(error.to_string().contains("1-2 of 1-3"), "{error}");
        assert_eq!(partition.kind(), ORDINARY);
        fs::write(
            host.path(&format!("{ROOT}/ours/cpuset.cpus.effective")),
            "1-3\n",
        )
        .unwrap();
        partition.become_kind(&host, "root").unwrap();
        assert_eq!(partition.kind(), "root");
    }

    #[test]
    fn memory_is_given_where_it_does_not_come_from_the_parent() {
        let (_root, host, partition) = group(&[
            ("cpuset.mems.effective", "0-1\n"),
            ("ours/cpuset.cpus", "\n"),
            ("ours/cpuset.mems", "\n"),
            ("ours/cpuset.mems.effective", "\n"),
        ]);
        partition.give_cores(&host, &[1]).unwrap();
        assert_eq!(host.read(&format!("{ROOT}/ours/cpuset.cpus")).unwrap(), "1");
        assert_eq!(
            host.read(&format!("{ROOT}/ours/cpuset.mems")).unwrap(),
            "0-1"
        );
    }
}
