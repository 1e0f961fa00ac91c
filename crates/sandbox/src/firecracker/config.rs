//! What there is to know about Firecracker on this host.

use std::path::{PathBuf, absolute};

use rustix::fs::{StatVfsMountFlags, statvfs};

use super::api::broken;
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
            work_dir: absolute(&self.work_dir).map_err(|error| {
                Error::host(format!("cannot find {}", self.work_dir.display()), error)
            })?,
            ..self
        })
    }

    /// A jail is a root: its program is started and its devices are opened in there.
    pub(super) fn check_jail(&self) -> Result<(), Error> {
        if self.jailer.is_none() {
            return Ok(());
        }
        let work_dir = self.work_dir.display();
        let mount = statvfs(&self.work_dir)
            .map_err(|errno| Error::host(format!("cannot look at {work_dir}"), errno))?;
        match hindrance(mount.f_flag) {
            None => Ok(()),
            Some(option) => Err(broken(&format!(
                "its jail cannot be in {work_dir}, whose file system is mounted {option}: choose a directory on another one"
            ))),
        }
    }
}

/// The option of a mount with which nothing can be a root there.
fn hindrance(mount: StatVfsMountFlags) -> Option<&'static str> {
    let hindrances = [
        (StatVfsMountFlags::NODEV, "nodev"),
        (StatVfsMountFlags::NOEXEC, "noexec"),
    ];
    let found = hindrances
        .into_iter()
        .find(|(flag, _)| mount.contains(*flag));
    found.map(|(_, option)| option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_devices_is_no_place_for_a_jail() {
        let harmless = StatVfsMountFlags::NOSUID | StatVfsMountFlags::RELATIME;
        assert_eq!(hindrance(harmless), None);
        assert_eq!(
            hindrance(harmless | StatVfsMountFlags::NODEV),
            Some("nodev")
        );
        assert_eq!(
            hindrance(harmless | StatVfsMountFlags::NOEXEC),
            Some("noexec")
        );
    }
}
