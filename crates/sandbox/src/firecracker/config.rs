//! What there is to know about Firecracker on this host.

use std::path::PathBuf;

use super::version;
use crate::Error;
use crate::microvm::GuestKernel;
use crate::programs::locate;

#[derive(Clone, Debug)]
pub struct FirecrackerConfig {
    pub program: PathBuf,
    /// The program of the same release that puts Firecracker into a root, a user and limits of its own. Needs root.
    pub jailer: Option<PathBuf>,
    /// An uncompressed ELF kernel.
    pub kernel: GuestKernel,
    /// For disks, sockets and logs. What a crash leaves there goes at the next start.
    pub work_dir: PathBuf,
}

impl FirecrackerConfig {
    /// The program's version, or why it cannot be used.
    pub fn check_version(&self) -> Result<String, Error> {
        let located = self.clone().located()?;
        version::check(&located.program, located.jailer.as_deref())
    }

    /// The same with whole paths.
    pub(super) fn located(self) -> Result<Self, Error> {
        let locate = |program: &PathBuf| {
            locate(program)
                .map_err(|error| Error::host(format!("cannot find {}", program.display()), error))
        };
        Ok(Self {
            program: locate(&self.program)?,
            jailer: self.jailer.as_ref().map(locate).transpose()?,
            ..self
        })
    }
}
