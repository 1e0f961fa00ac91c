//! Making chambers that are machines, whatever starts these.

use std::sync::Arc;

use kiln_model::Clock;
use kiln_model::v0::Isolation;

use super::chamber::MachineChamber;
use super::hypervisor::Hypervisor;
use super::kept::Kept;
use crate::firecracker::Firecracker;
use crate::qemu::Qemu;
use crate::{
    Backend, BaseKind, Chamber, ChamberSpec, Error, FirecrackerConfig, QemuConfig, Rootfs,
};

/// Chambers that are machines.
#[derive(Debug)]
pub struct Machines {
    clock: Arc<dyn Clock>,
    hypervisor: Arc<dyn Hypervisor>,
    /// None where machines cannot be written down.
    kept: Option<Arc<Kept>>,
}

impl Machines {
    /// Machines of QEMU.
    pub fn qemu(config: QemuConfig, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            kept: (config.kept_bytes > 0).then(|| Arc::new(Kept::new(config.kept_bytes))),
            hypervisor: Arc::new(Qemu::new(config)),
        }
    }

    /// Machines of Firecracker. Checks the program's version and removes what a crash left.
    pub fn firecracker(config: FirecrackerConfig, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let hypervisor = Firecracker::new(config, Arc::clone(&clock))?;
        Ok(Self {
            clock,
            hypervisor: Arc::new(hypervisor),
            kept: None,
        })
    }
}

impl Backend for Machines {
    fn name(&self) -> &'static str {
        self.hypervisor.name()
    }

    fn isolation(&self) -> Option<Isolation> {
        Some(self.hypervisor.isolation())
    }

    fn base_kind(&self) -> BaseKind {
        BaseKind::Disk
    }

    fn prepare(&self, rootfs: &Rootfs, spec: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
        Ok(Box::new(MachineChamber::prepare(
            Arc::clone(&self.clock),
            Arc::clone(&self.hypervisor),
            self.kept.clone(),
            rootfs.resolved_disk()?,
            spec,
        )?))
    }
}
