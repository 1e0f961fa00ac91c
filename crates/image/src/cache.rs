//! Unpacked images by digest, on disk, bounded, and safe against crashes at any moment.
//!
//! ```text
//! cache/
//!   lock                    held for the moments in which entries come, go or are taken
//!   tmp-XXXXXX/             being pulled, unpacked or removed; its owner holds a lock on it
//!   images/sha256-<hex>/    complete; whoever uses it holds a shared lock on it
//!     image.json            what it is, how large; its modification time is its last use
//!     rootfs/
//!     owners                to whom its files belong, if an ordinary user has unpacked it
//!     disk.ext4             the same as a disk, once a machine has wanted it
//! ```
//!
//! An entry becomes visible by one rename after all of it is on disk, and goes by one rename
//! before any of it is removed. A crash leaves only `tmp-*`, whose locks died with their owner;
//! the next open removes them. A manifest's digest names one image for one platform, so it is the
//! whole key.

mod entry;
mod evict;
mod lock;
mod staging;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use kiln_model::Digest;
use rustix::fs::FlockOperation;

use crate::disk::{self, DiskError};
use crate::owners::Owners;
use crate::unpack::{UnpackError, unpack_noting_owners};
use crate::{Image, ImageConfig, Limits};

use entry::Marker;
use lock::Lock;
pub use staging::Staging;

const IMAGES: &str = "images";
const ROOTFS: &str = "rootfs";
const OWNERS: &str = "owners";
const DISK: &str = "disk.ext4";

#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    #[error("cannot {action} {path}")]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("cache entry {path} is damaged")]
    Damaged {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("cannot unpack {image}")]
    Unpack {
        image: Digest,
        source: Box<UnpackError>,
    },
    #[error("cannot make a disk of {image}")]
    Disk {
        image: Digest,
        source: Box<DiskError>,
    },
}

impl CacheError {
    /// Whether an entry is not what it was once: waiting does not make it better, making it again does.
    fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::Io { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::IsADirectory | io::ErrorKind::InvalidData
            ),
            Self::Unpack { .. } | Self::Disk { .. } => false,
        }
    }
}

/// A directory of unpacked images. Several processes may share it.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: PathBuf,
    limit_bytes: u64,
    limits: Limits,
}

/// An unpacked image in use. As long as this lives the image is not removed.
#[derive(Debug)]
pub struct Guard {
    path: PathBuf,
    digest: Digest,
    config: ImageConfig,
    _in_use: OwnedFd,
}

impl Guard {
    /// The root file system. It is shared: read it, mount it below a writable layer, never write.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub const fn config(&self) -> &ImageConfig {
        &self.config
    }

    pub const fn digest(&self) -> &Digest {
        &self.digest
    }
}

impl Cache {
    /// Opens a cache that keeps at most about `limit_bytes` of images nobody uses, and removes what
    /// a crash left.
    pub fn open(directory: impl Into<PathBuf>, limit_bytes: u64) -> Result<Self, CacheError> {
        let cache = Self {
            directory: directory.into(),
            limit_bytes,
            limits: Limits::default(),
        };
        let images = cache.directory.join(IMAGES);
        std::fs::create_dir_all(&images).map_err(failed("create", &images))?;
        make_private(&cache.directory).map_err(failed("protect", &cache.directory))?;
        staging::sweep(&cache.directory)?;
        Ok(cache)
    }

    /// Refuses images beyond these limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The image with this manifest digest, if it is here.
    pub fn get(&self, digest: &Digest) -> Result<Option<Guard>, CacheError> {
        let lock = Lock::take(&self.directory)?;
        self.take(digest, &lock)
    }

    /// The image's root file system, unpacked now unless it is here.
    pub fn rootfs(&self, image: &Image) -> Result<Guard, CacheError> {
        if let Some(guard) = self.get(image.digest())? {
            return Ok(guard);
        }
        let staging = self.stage()?;
        let rootfs = staging.path().join(ROOTFS);
        std::fs::create_dir(&rootfs).map_err(failed("create", &rootfs))?;
        let (unpacked, owners) =
            unpack_noting_owners(image, &rootfs, &self.limits).map_err(|source| {
                CacheError::Unpack {
                    image: image.digest().clone(),
                    source: source.into(),
                }
            })?;
        if let Some(owners) = owners {
            let path = staging.path().join(OWNERS);
            owners.write(&path).map_err(failed("write", &path))?;
        }
        let marker = Marker {
            digest: image.digest().clone(),
            bytes: unpacked.bytes,
            config: image.config().clone(),
        };
        marker.write(staging.path())?;
        staging.sync()?;
        let guard = self.admit(staging, marker)?;
        evict::evict(&self.directory, self.limit_bytes)?;
        Ok(guard)
    }

    /// The image's root file system as a disk, made now unless it is here. It lasts as long as the guard.
    pub fn disk(&self, image: &Guard) -> Result<PathBuf, CacheError> {
        let entry = self.entry_path(&image.digest);
        let disk = entry.join(DISK);
        if disk.exists() {
            return Ok(disk);
        }
        let owners = entry.join(OWNERS);
        let owners = Owners::read(&owners).map_err(failed("read", &owners))?;
        let staging = self.stage()?;
        let made = staging.path().join(DISK);
        disk::write(&image.path, owners.as_ref(), &made).map_err(|source| CacheError::Disk {
            image: image.digest.clone(),
            source: source.into(),
        })?;
        staging.sync()?;
        // Somebody else may have put the same bytes there meanwhile.
        std::fs::rename(&made, &disk).map_err(failed("move into place", &disk))?;
        evict::evict(&self.directory, self.limit_bytes)?;
        Ok(disk)
    }

    /// A directory to pull into; it goes when dropped, and after a crash at the next open.
    pub fn stage(&self) -> Result<Staging, CacheError> {
        Staging::new(&self.directory)
    }

    /// Puts a finished entry in its place, or takes the one somebody else put there meanwhile.
    fn admit(&self, staging: Staging, marker: Marker) -> Result<Guard, CacheError> {
        let lock = Lock::take(&self.directory)?;
        if let Some(guard) = self.take(&marker.digest, &lock)? {
            return Ok(guard);
        }
        let path = self.entry_path(&marker.digest);
        let in_use = staging.publish(&path)?;
        Marker::mark_used(&path, &lock)?;
        Ok(Guard {
            path: path.join(ROOTFS),
            digest: marker.digest,
            config: marker.config,
            _in_use: in_use,
        })
    }

    /// Takes an entry while the cache's lock is held, which keeps evictions away.
    fn take(&self, digest: &Digest, lock: &Lock) -> Result<Option<Guard>, CacheError> {
        let path = self.entry_path(digest);
        let Some(in_use) = lock::open_directory(&path)? else {
            return Ok(None);
        };
        lock::flock(&in_use, FlockOperation::LockShared, &path)?;
        let marker = match Marker::read(&path) {
            Ok(marker) => marker,
            Err(error) => {
                // Ours is the only use of it, or else it stays.
                drop(in_use);
                let retired = evict::retire_damaged(&self.directory, &path, &error);
                return retired.map_or(Err(error), |_| Ok(None));
            }
        };
        Marker::mark_used(&path, lock)?;
        Ok(Some(Guard {
            path: path.join(ROOTFS),
            digest: marker.digest,
            config: marker.config,
            _in_use: in_use,
        }))
    }

    fn entry_path(&self, digest: &Digest) -> PathBuf {
        let name = format!("{}-{}", digest.algorithm().name(), digest.hex());
        self.directory.join(IMAGES).join(name)
    }
}

/// Images are somebody's; other users of the host have no business here.
fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))
}

fn failed<'a, E: Into<io::Error>>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(E) -> CacheError + 'a {
    move |source| CacheError::Io {
        action,
        path: path.to_owned(),
        source: source.into(),
    }
}

#[cfg(test)]
mod tests;
