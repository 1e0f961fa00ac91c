//! The shape of a chamber.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::Error;

/// A read-only base. Nobody may change it while chambers use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rootfs(Base);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Base {
    /// Laid over each other, topmost first.
    Directories(Vec<PathBuf>),
    Disk(PathBuf),
}

/// What a back end can take as a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseKind {
    Directory,
    /// A disk image with an ext4 file system.
    Disk,
}

impl Rootfs {
    /// One directory that holds a whole root file system.
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self(Base::Directories(vec![path.into()]))
    }

    /// Several directories, topmost first, with overlayfs whiteouts between them.
    pub fn layers(layers: Vec<PathBuf>) -> Self {
        Self(Base::Directories(layers))
    }

    /// A disk image with an ext4 file system, for back ends that are machines.
    pub fn disk(path: impl Into<PathBuf>) -> Self {
        Self(Base::Disk(path.into()))
    }

    /// Nothing at all, for probing the host.
    pub(crate) fn empty() -> Self {
        Self(Base::Directories(Vec::new()))
    }

    /// The layers' absolute paths as text, or what is wrong with them.
    pub(crate) fn resolved(&self) -> Result<Vec<String>, Error> {
        match &self.0 {
            Base::Directories(layers) => layers.iter().map(|layer| resolve(layer)).collect(),
            Base::Disk(path) => Err(Error::Rootfs {
                path: path.clone(),
                reason: "it is a disk, and this back end takes directories".to_owned(),
            }),
        }
    }

    /// The disk's absolute path, or what is wrong with it.
    pub(crate) fn resolved_disk(&self) -> Result<PathBuf, Error> {
        let refuse = |path: &Path, reason: String| Error::Rootfs {
            path: path.to_owned(),
            reason,
        };
        match &self.0 {
            Base::Disk(path) => path
                .canonicalize()
                .map_err(|error| refuse(path, error.to_string())),
            Base::Directories(layers) => Err(refuse(
                layers
                    .first()
                    .map_or_else(|| Path::new("/"), PathBuf::as_path),
                "it is a directory, and this back end takes a disk".to_owned(),
            )),
        }
    }
}

fn resolve(layer: &Path) -> Result<String, Error> {
    let refuse = |reason: String| Error::Rootfs {
        path: layer.to_owned(),
        reason,
    };
    let path = layer
        .canonicalize()
        .map_err(|error| refuse(error.to_string()))?;
    if !path.is_dir() {
        return Err(refuse("not a directory".to_owned()));
    }
    path.into_os_string()
        .into_string()
        .map_err(|_| refuse("the path is not utf-8".to_owned()))
}

/// What a chamber consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChamberSpec {
    /// CPUs' worth of time.
    pub cpus: u32,
    pub memory_bytes: u64,
    pub swap_bytes: u64,
    /// What a run may write to its root. In a namespace chamber without a disk of its own it counts as memory too, as the layer
    /// `disk` says.
    pub disk_bytes: u64,
    pub processes: u32,
    /// More than a loopback device.
    pub network: bool,
    /// Addresses a network must not reach, besides private and link-local ones: the control plane's.
    pub blocked: Vec<IpAddr>,
    /// The cores it runs on; any if empty.
    pub cores: Vec<u32>,
    /// The v2 control group that has these cores to itself; none if everybody may use them.
    pub partition: Option<PathBuf>,
    pub hostname: String,
    /// What to do when this host cannot enforce one of the limits above.
    pub missing_limits: Missing,
}

impl Default for ChamberSpec {
    fn default() -> Self {
        Self {
            cpus: 1,
            memory_bytes: 512 << 20,
            swap_bytes: 0,
            disk_bytes: 1 << 30,
            processes: 512,
            network: false,
            blocked: Vec::new(),
            cores: Vec::new(),
            partition: None,
            hostname: "kiln".to_owned(),
            missing_limits: Missing::Refuse,
        }
    }
}

/// Whether a run without one of its limits is better than none. It is reported in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    Refuse,
    Accept,
}

/// The longest name Linux takes.
const MAX_HOSTNAME_BYTES: usize = 64;

impl ChamberSpec {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |reason: &str| {
            Err(Error::Spec {
                reason: reason.to_owned(),
            })
        };
        if self.cpus == 0 || self.memory_bytes == 0 || self.disk_bytes == 0 || self.processes == 0 {
            return refuse("cpus, memory, disk and processes must be more than zero");
        }
        if self.hostname.is_empty()
            || self.hostname.len() > MAX_HOSTNAME_BYTES
            || self.hostname.contains('\0')
        {
            return refuse("a host name has 1 to 64 bytes");
        }
        Ok(())
    }

    /// Files a run may create, in the proportion an ext4 disk of that size would have.
    pub(crate) fn disk_inodes(&self) -> u64 {
        const BYTES_PER_INODE: u64 = 16 << 10;
        const AT_LEAST: u64 = 1024;
        (self.disk_bytes / BYTES_PER_INODE).max(AT_LEAST)
    }

    /// `/dev/shm`: what other container runtimes give, within the chamber's memory.
    pub(crate) fn shared_memory_bytes(&self) -> u64 {
        const USUAL: u64 = 64 << 20;
        self.memory_bytes.min(USUAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chamber_without_room_is_refused() {
        for spec in [
            ChamberSpec {
                cpus: 0,
                ..ChamberSpec::default()
            },
            ChamberSpec {
                memory_bytes: 0,
                ..ChamberSpec::default()
            },
            ChamberSpec {
                disk_bytes: 0,
                ..ChamberSpec::default()
            },
            ChamberSpec {
                processes: 0,
                ..ChamberSpec::default()
            },
            ChamberSpec {
                hostname: "x".repeat(65),
                ..ChamberSpec::default()
            },
        ] {
            assert!(spec.check().is_err(), "{spec:?}");
        }
    }

    #[test]
    fn a_missing_base_is_named() {
        let error = Rootfs::directory("/no/such/base").resolved().unwrap_err();
        assert!(error.to_string().contains("/no/such/base"));
    }
}
