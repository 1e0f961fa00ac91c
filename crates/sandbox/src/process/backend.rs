//! Making places for commands that are no chambers.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_model::Clock;
use kiln_model::v0::Isolation;

use super::chamber::ProcessChamber;
use crate::cgroup::Hierarchies;
use crate::{Backend, Chamber, ChamberSpec, Error, Rootfs, abandoned};

/// Processes of the host. Each run has a copy of the base, limits where the host has control groups, and no walls.
#[derive(Debug)]
pub struct Processes {
    clock: Arc<dyn Clock>,
    work_dir: PathBuf,
}

impl Processes {
    /// Copies are made in `work_dir`, and what a crash left there is removed now.
    pub fn new(work_dir: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let work_dir = work_dir.into();
        abandoned::remove_directories(&work_dir)
            .map_err(|error| Error::host("cannot remove what is left of runs", error))?;
        Ok(Self { clock, work_dir })
    }
}

impl Backend for Processes {
    fn name(&self) -> &'static str {
        "process"
    }

    fn isolation(&self) -> Option<Isolation> {
        None
    }

    fn prepare(&self, rootfs: &Rootfs, spec: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
        spec.check()?;
        let [base] = <[String; 1]>::try_from(rootfs.resolved()?).map_err(|layers| Error::Spec {
            reason: format!(
                "without a sandbox a base is one directory, not {}",
                layers.len()
            ),
        })?;
        Ok(Box::new(ProcessChamber {
            clock: Arc::clone(&self.clock),
            base: base.into(),
            work_dir: self.work_dir.clone(),
            spec: spec.clone(),
            hierarchies: Hierarchies::detect_below(spec.partition.as_deref())?,
        }))
    }
}
