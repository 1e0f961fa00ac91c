//! The group of one run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::event::{Timespec, poll};

use super::controller::{Controller, Version};
use super::hierarchy::Hierarchies;
use super::name::{self, Owner};
use super::usage::GroupUsage;
use crate::surroundings::PressureFiles;
use crate::{ChamberSpec, Error, Layer, Missing};

/// A group in every tree that has a controller for us. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Group {
    parts: Vec<Part>,
    layers: Vec<Layer>,
}

/// The group's directory for one controller.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) controller: Controller,
    pub(super) version: Version,
    pub(super) path: PathBuf,
}

/// A last process may take a moment to leave its group, and v1 has no event for it.
const REMOVAL_ATTEMPTS: u32 = 1000;
const REMOVAL_PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

impl Group {
    /// Makes the group and sets the spec's limits. Without a limit there is no group, unless the spec accepts that.
    pub(crate) fn create(hierarchies: &Hierarchies, spec: &ChamberSpec) -> Result<Self, Error> {
        let owner = Owner::this_process().ok_or_else(|| {
            Error::host(
                "cannot find out when we started",
                io::Error::other("no /proc/self/stat"),
            )
        })?;
        let name = name::fresh(owner);
        let mut group = Self {
            parts: Vec::new(),
            layers: Vec::new(),
        };
        for place in hierarchies.places() {
            let path = place.parent.join(&name);
            match make_directory(&path) {
                Ok(()) => {
                    group
                        .layers
                        .extend(place.controller.limit(&path, place.version, spec));
                    group.parts.push(Part {
                        controller: place.controller,
                        version: place.version,
                        path,
                    });
                }
                Err(error) => {
                    let detail = format!("cannot make {}: {error}", path.display());
                    group
                        .layers
                        .push(Layer::missing(place.controller.name(), detail));
                }
            }
        }
        for controller in Controller::LIMITING {
            if !group
                .layers
                .iter()
                .any(|layer| layer.name == controller.name())
            {
                group.layers.push(Layer::missing(
                    controller.name(),
                    hierarchies.why_not(controller),
                ));
            }
        }
        group.check(spec.missing_limits)?;
        Ok(group)
    }

    fn check(&self, missing: Missing) -> Result<(), Error> {
        match (missing, self.layers.iter().find(|layer| !layer.applied)) {
            (Missing::Refuse, Some(layer)) => Err(Error::Unlimited {
                limit: layer.name.clone(),
                detail: layer.detail.clone(),
            }),
            (Missing::Refuse, None) | (Missing::Accept, _) => Ok(()),
        }
    }

    /// How a process with one thread gets into the group: by writing `0` to these files.
    pub(crate) fn entrances(&self) -> Vec<String> {
        let mut entrances = self.legacy_entrances();
        let unified = self.parts.iter().find(|part| part.version == Version::V2);
        entrances.extend(unified.map(|part| {
            let members = part.path.join("cgroup.procs");
            members.to_string_lossy().into_owned()
        }));
        entrances
    }

    /// How a process gets into the v1 trees' groups: by writing to these files.
    pub(crate) fn legacy_entrances(&self) -> Vec<String> {
        let legacy = self.parts.iter().filter(|part| part.version == Version::V1);
        let mut entrances: Vec<String> = legacy
            .map(|part| part.path.join("tasks").to_string_lossy().into_owned())
            .collect();
        entrances.sort_unstable();
        entrances.dedup();
        entrances
    }

    /// The group's directory in the v2 tree; empty where that is not used.
    pub(crate) fn unified(&self) -> String {
        self.parts
            .iter()
            .find(|part| part.version == Version::V2)
            .map_or_else(String::new, |part| part.path.to_string_lossy().into_owned())
    }

    /// How long its processes wait for resources, where this host tells that of a single group.
    pub(crate) fn pressure(&self) -> Option<PressureFiles> {
        let unified = self.parts.iter().find(|part| part.version == Version::V2)?;
        PressureFiles::of_group(&unified.path)
    }

    /// What its processes have used.
    pub(crate) fn usage(&self) -> GroupUsage {
        GroupUsage::read(&self.parts)
    }

    /// Removes the group and says which limits were in effect.
    pub(crate) fn remove(mut self) -> Result<Vec<Layer>, Error> {
        self.remove_directories()?;
        Ok(std::mem::take(&mut self.layers))
    }

    fn remove_directories(&mut self) -> Result<(), Error> {
        let paths: Vec<PathBuf> = self.paths().map(Path::to_owned).collect();
        self.parts.clear();
        for path in paths {
            remove_directory(&path).map_err(|error| {
                Error::host(format!("cannot remove the group {}", path.display()), error)
            })?;
        }
        Ok(())
    }

    /// Each directory once: some controllers share a tree.
    fn paths(&self) -> impl Iterator<Item = &Path> {
        let unique = |(index, part): &(usize, &Part)| {
            !self.parts[..*index]
                .iter()
                .any(|other| other.path == part.path)
        };
        self.parts
            .iter()
            .enumerate()
            .filter(unique)
            .map(|(_, part)| part.path.as_path())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Err(error) = self.remove_directories() {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a control group is left behind"
            );
        }
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        // Another controller in the same tree was here before.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Removes a group's directory once its last process has left it.
pub(crate) fn remove_directory(path: &Path) -> io::Result<()> {
    for _ in 1..REMOVAL_ATTEMPTS {
        match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                // Interrupted or not, the next attempt follows.
                let _ = poll(&mut [], Some(&REMOVAL_PAUSE));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            result => return result,
        }
    }
    fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_cannot_limit_is_refused_or_reported_as_the_spec_says() {
        let nothing = Hierarchies::default();
        let refusing = ChamberSpec::default();
        assert!(matches!(
            Group::create(&nothing, &refusing),
            Err(Error::Unlimited { .. })
        ));

        let accepting = ChamberSpec {
            missing_limits: Missing::Accept,
            ..refusing
        };
        let layers = Group::create(&nothing, &accepting)
            .unwrap()
            .remove()
            .unwrap();
        let names: Vec<_> = layers
            .iter()
            .map(|layer| (layer.name.as_str(), layer.applied))
            .collect();
        assert_eq!(names, [("memory", false), ("cpu", false), ("pids", false)]);
    }
}
