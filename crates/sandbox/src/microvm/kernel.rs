//! The guest's kernel: where it is, and where its modules are.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Where the header of a bzImage has its magic and the place of its release, and what the latter counts from.
const MAGIC_AT: u64 = 0x202;
const MAGIC: &[u8; 4] = b"HdrS";
const RELEASE_AT: u64 = 0x20e;
const RELEASE_FROM: u64 = 0x200;

/// No release is longer.
const MAX_RELEASE_BYTES: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error("cannot read the kernel {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("no guest kernel found in {}", .0.join(", "))]
    NotFound(Vec<String>),
}

/// A kernel that machines boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestKernel {
    image: PathBuf,
    release: Option<String>,
    modules: Option<PathBuf>,
}

impl GuestKernel {
    /// The kernel at a path. Its modules are looked for beside it and in `/lib/modules`; a kernel without any is taken
    /// to have everything built in.
    pub fn at(image: impl Into<PathBuf>) -> Result<Self, KernelError> {
        let image = image.into();
        let release = release(&image).map_err(|source| KernelError::Read {
            path: image.clone(),
            source,
        })?;
        let modules = release
            .as_ref()
            .and_then(|release| modules_of(&image, release));
        Ok(Self {
            image,
            release,
            modules,
        })
    }

    /// The newest cloud kernel in the places where `cargo xtask setup` and Debian put one.
    pub fn find() -> Result<Self, KernelError> {
        let places = known_places();
        let newest = places
            .iter()
            .flat_map(fs::read_dir)
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| is_cloud_kernel(path))
            .max();
        match newest {
            Some(path) => Self::at(path),
            None => Err(KernelError::NotFound(
                places
                    .iter()
                    .map(|place| place.display().to_string())
                    .collect(),
            )),
        }
    }

    pub fn image(&self) -> &Path {
        &self.image
    }

    pub fn release(&self) -> Option<&str> {
        self.release.as_deref()
    }

    pub(super) fn modules(&self) -> Option<&Path> {
        self.modules.as_deref()
    }
}

fn known_places() -> Vec<PathBuf> {
    let mut places = vec![
        PathBuf::from("/var/lib/kiln/kernel/boot"),
        PathBuf::from("/boot"),
    ];
    if let Some(home) = std::env::var_os("HOME") {
        places.insert(0, Path::new(&home).join(".local/share/kiln/kernel/boot"));
    }
    places
}

fn is_cloud_kernel(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("vmlinuz-") && name.contains("-cloud-"))
}

/// The release in the header of a bzImage; `None` for other kinds of kernels.
fn release(image: &Path) -> io::Result<Option<String>> {
    let mut file = File::open(image)?;
    let mut at = |place: u64, buffer: &mut [u8]| -> io::Result<bool> {
        file.seek(SeekFrom::Start(place))?;
        match file.read_exact(buffer) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    };
    let mut magic = [0; 4];
    let mut place = [0; 2];
    let mut text = [0; MAX_RELEASE_BYTES];
    if !at(MAGIC_AT, &mut magic)? || magic != *MAGIC || !at(RELEASE_AT, &mut place)? {
        return Ok(None);
    }
    let place = RELEASE_FROM + u64::from(u16::from_le_bytes(place));
    if !at(place, &mut text)? {
        return Ok(None);
    }
    let words = text
        .split(|byte| *byte == b' ' || *byte == 0)
        .next()
        .and_then(|word| std::str::from_utf8(word).ok())
        .filter(|word| !word.is_empty() && !word.contains('/'));
    Ok(words.map(str::to_owned))
}

/// `boot/vmlinuz` and `lib/modules` are neighbours, on a system as in an unpacked package.
fn modules_of(image: &Path, release: &str) -> Option<PathBuf> {
    let beside = image
        .parent()
        .and_then(Path::parent)
        .map(|root| root.join("lib/modules"));
    beside
        .into_iter()
        .chain([PathBuf::from("/lib/modules")])
        .map(|modules| modules.join(release))
        .find(|modules| modules.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something with the header of a bzImage.
    fn bz_image(release: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x600];
        bytes[0x202..0x206].copy_from_slice(MAGIC);
        bytes[0x20e..0x210].copy_from_slice(&0x300_u16.to_le_bytes());
        bytes[0x500..0x500 + release.len()].copy_from_slice(release.as_bytes());
        bytes
    }

    #[test]
    fn modules_are_found_beside_the_kernel_by_its_release() {
        let root = tempfile::tempdir().unwrap();
        let modules = root.path().join("lib/modules/9.9-test");
        fs::create_dir_all(&modules).unwrap();
        fs::create_dir(root.path().join("boot")).unwrap();
        let image = root.path().join("boot/vmlinuz");
        fs::write(&image, bz_image("9.9-test (someone) #1")).unwrap();
        let kernel = GuestKernel::at(&image).unwrap();
        assert_eq!(kernel.release(), Some("9.9-test"));
        assert_eq!(kernel.modules(), Some(modules.as_path()));
    }

    #[test]
    fn a_kernel_of_another_kind_has_everything_built_in() {
        let root = tempfile::tempdir().unwrap();
        let image = root.path().join("vmlinux");
        fs::write(&image, b"\x7fELF").unwrap();
        let kernel = GuestKernel::at(&image).unwrap();
        assert_eq!((kernel.release(), kernel.modules()), (None, None));
    }

    #[test]
    fn a_release_cannot_lead_out_of_the_modules_directory() {
        let root = tempfile::tempdir().unwrap();
        let image = root.path().join("vmlinuz");
        fs::write(&image, bz_image("../../etc")).unwrap();
        assert_eq!(GuestKernel::at(&image).unwrap().release(), None);
    }

    #[test]
    fn a_missing_kernel_is_named() {
        let error = GuestKernel::at("/no/such/kernel").unwrap_err();
        assert!(error.to_string().contains("/no/such/kernel"));
    }
}
