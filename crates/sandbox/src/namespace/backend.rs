//! Making namespace chambers.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_model::Clock;
use kiln_model::v0::Isolation;

use super::chamber::NamespaceChamber;
use super::disk::Disks;
use super::launcher::Launcher;
use crate::cgroup::Hierarchies;
use crate::{Backend, Chamber, ChamberSpec, Error, Rootfs};

/// Chambers made of Linux namespaces. Works as root and, with what the kernel allows, as an ordinary user.
#[derive(Debug)]
pub struct Namespaces {
    clock: Arc<dyn Clock>,
    launcher: Arc<Launcher>,
    disks: Arc<Disks>,
}

impl Namespaces {
    /// What commands write goes to disks in files without a name, in this directory. Where they cannot be had it stays in
    /// memory, and counts as such.
    pub fn new(clock: Arc<dyn Clock>, directory: impl Into<PathBuf>) -> Self {
        Self {
            clock,
            launcher: Arc::default(),
            disks: Arc::new(Disks::new(directory.into())),
        }
    }
}

impl Backend for Namespaces {
    fn name(&self) -> &'static str {
        "namespace"
    }

    fn isolation(&self) -> Option<Isolation> {
        Some(Isolation::Namespace)
    }

    fn prepare(&self, rootfs: &Rootfs, spec: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
        spec.check()?;
        let hierarchies = Hierarchies::detect_below(spec.partition.as_deref())?;
        Ok(Box::new(NamespaceChamber::new(
            self.clock.clone(),
            Arc::clone(&self.launcher),
            Arc::clone(&self.disks),
            rootfs.resolved()?,
            spec.clone(),
            hierarchies,
        )?))
    }
}
