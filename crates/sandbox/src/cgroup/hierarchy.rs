//! Where this host has its controllers, and where we stand in each tree.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::controller::{Controller, Version};
use super::files::write;
use crate::Error;

/// The group a v2 process of ours moves into, because v2 wants processes in leaves only.
const SUPERVISOR: &str = "kiln-supervisor";

/// The controllers of this host, each with the group that ours are made below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hierarchies {
    places: Vec<Place>,
    /// Where whole trees are mounted, for [`super::sweep`].
    pub(super) roots: Vec<PathBuf>,
    /// Why the v2 tree is not used, where there is one.
    unified_trouble: Option<String>,
}

/// Where one controller's groups are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) controller: Controller,
    pub(super) version: Version,
    pub(super) parent: PathBuf,
}

impl Hierarchies {
    pub(crate) fn detect() -> Result<Self, Error> {
        Self::detect_below(None)
    }

    /// The same, with the groups of a v2 host below this one instead of that of this process.
    pub(crate) fn detect_below(group: Option<&Path>) -> Result<Self, Error> {
        let read = |path: &str| {
            fs::read_to_string(path)
                .map_err(|error| Error::host(format!("cannot read {path}"), error))
        };
        Ok(Self::from_tables(
            &read("/proc/self/mountinfo")?,
            &read("/proc/self/cgroup")?,
            group,
        ))
    }

    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Why a controller has no place.
    pub(super) fn why_not(&self, controller: Controller) -> String {
        match &self.unified_trouble {
            Some(trouble) => format!("no {} controller: {trouble}", controller.name()),
            None => format!("this host has no {} controller", controller.name()),
        }
    }

    fn from_tables(mountinfo: &str, memberships: &str, below: Option<&Path>) -> Self {
        let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
        let mut hierarchies = Self {
            roots: mounts.iter().map(|mount| mount.point.clone()).collect(),
            ..Self::default()
        };
        if let Some(group) = mounts
            .iter()
            .find_map(|mount| mount.unified_group(memberships))
        {
            hierarchies.use_unified(below.unwrap_or(&group));
        }
        for controller in Controller::V1 {
            if hierarchies.has(controller) {
                continue;
            }
            if let Some(parent) = mounts
                .iter()
                .find_map(|mount| mount.legacy_group(controller, memberships))
            {
                hierarchies.places.push(Place {
                    controller,
                    version: Version::V1,
                    parent,
                });
            }
        }
        hierarchies
    }

    fn has(&self, controller: Controller) -> bool {
        // Every v2 group counts CPU time, so the v1 counter is of use only next to the v1 cpu controller.
        self.places.iter().any(|place| {
            place.controller == controller
                || (controller == Controller::CpuAccounting
                    && place.controller == Controller::Cpu
                    && place.version == Version::V2)
        })
    }

    fn use_unified(&mut self, own: &Path) {
        let parent = if own.ends_with(SUPERVISOR) {
            own.parent().unwrap_or(own)
        } else {
            own
        };
        let offered = fs::read_to_string(parent.join("cgroup.controllers")).unwrap_or_default();
        for controller in Controller::LIMITING {
            if !offered
                .split_ascii_whitespace()
                .any(|name| name == controller.name())
            {
                continue;
            }
            match hand_down(parent, controller) {
                Ok(()) => self.places.push(Place {
                    controller,
                    version: Version::V2,
                    parent: parent.to_owned(),
                }),
                Err(error) => self.unified_trouble = Some(format!("{}: {error}", parent.display())),
            }
        }
    }
}

/// Makes a controller available to the groups below `parent`. If processes stand in the way we step aside, which helps
/// when they are only ours, as in a service with a delegated group.
fn hand_down(parent: &Path, controller: Controller) -> io::Result<()> {
    let enable = || {
        write(
            parent,
            "cgroup.subtree_control",
            &format!("+{}", controller.name()),
        )
    };
    match enable() {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
            let supervisor = parent.join(SUPERVISOR);
            match fs::create_dir(&supervisor) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
            write(&supervisor, "cgroup.procs", "0")?;
            enable()
        }
        result => result,
    }
}

/// A mounted tree of groups.
#[derive(Debug)]
struct Mount {
    /// The group that is visible at the mount point.
    root: String,
    point: PathBuf,
    /// The controllers of a v1 tree; `None` for the v2 tree.
    controllers: Option<Vec<String>>,
}

impl Mount {
    /// Reads a line of `mountinfo`: `id parent device root point options … - type source options`.
    fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let controllers = match right.next()? {
            "cgroup" => Some(right.nth(1)?.split(',').map(str::to_owned).collect()),
            "cgroup2" => None,
            _ => return None,
        };
        let mut left = left.split(' ').skip(3);
        Some(Self {
            root: left.next()?.to_owned(),
            point: PathBuf::from(left.next()?),
            controllers,
        })
    }

    fn unified_group(&self, memberships: &str) -> Option<PathBuf> {
        if self.controllers.is_some() {
            return None;
        }
        let group = memberships
            .lines()
            .find_map(|line| line.strip_prefix("0::"))?;
        Some(self.path_of(group))
    }

    fn legacy_group(&self, controller: Controller, memberships: &str) -> Option<PathBuf> {
        let wanted = controller.name();
        if !self.controllers.as_ref()?.iter().any(|name| name == wanted) {
            return None;
        }
        let groups: BTreeMap<&str, &str> = memberships
            .lines()
            .filter_map(|line| line.split_once(':')?.1.split_once(':'))
            .flat_map(|(names, group)| names.split(',').map(move |name| (name, group)))
            .collect();
        Some(self.path_of(groups.get(wanted)?))
    }

    /// Where a group is visible. In a container the mount shows only a part of the tree.
    fn path_of(&self, group: &str) -> PathBuf {
        let below = if self.root == "/" {
            group
        } else {
            group.strip_prefix(self.root.as_str()).unwrap_or("/")
        };
        self.point.join(below.trim_start_matches('/'))
    }
}

#[cfg(test)]
mod tests;
