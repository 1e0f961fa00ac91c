//! Making chambers that are machines, whatever starts these.

use std::sync::Arc;

use kiln_model::Clock;

use super::chamber::MachineChamber;
use super::hypervisor::Hypervisor;
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
}

impl Machines {
    /// Machines of QEMU.
    pub fn qemu(config: QemuConfig, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            hypervisor: Arc::new(Qemu::new(config)),
        }
    }

    /// Machines of Firecracker. Checks the program's version and removes what a crash left.
    pub fn firecracker(config: FirecrackerConfig, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let hypervisor = Firecracker::new(config, Arc::clone(&clock))?;
        Ok(Self {
            clock,
            hypervisor: Arc::new(hypervisor),
        })
    }
}

impl Backend for Machines {
    fn name(&self) -> &'static str {
        self.hypervisor.name()
    }

    fn base_kind(&self) -> BaseKind {
        BaseKind::Disk
    }

    fn prepare(&self, rootfs: &Rootfs, spec: &ChamberSpec) -> Result<Box<dyn Chamber>, Error> {
        Ok(Box::new(MachineChamber::prepare(
            Arc::clone(&self.clock),
            Arc::clone(&self.hypervisor),
            rootfs.resolved_disk()?,
            spec,
        )?))
    }
}
