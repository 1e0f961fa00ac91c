//! What there is below a directory, each directory before what is in it, names in order.

use std::fs::{self, Metadata};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::{DiskError, unreadable};

/// Every file system makes one of its own.
const LOST_AND_FOUND: &[u8] = b"lost+found";

/// The only attributes that unpacking lets through.
const ATTRIBUTE_PREFIX: &str = "user.";

#[derive(Debug)]
pub(super) struct Found {
    /// Where its directory is in the list; the root is not in it.
    pub(super) parent: Option<usize>,
    pub(super) name: Vec<u8>,
    pub(super) path: PathBuf,
    pub(super) metadata: Metadata,
    /// Of a symbolic link.
    pub(super) target: Option<Vec<u8>>,
    pub(super) attributes: Vec<(String, Vec<u8>)>,
}

pub(super) fn walk(root: &Path) -> Result<Vec<Found>, DiskError> {
    let mut found: Vec<Found> = Vec::new();
    let mut directories = vec![(root.to_owned(), None)];
    while let Some((directory, parent)) = directories.pop() {
        for path in sorted_entries(&directory)? {
            let entry = look_at(path, parent)?;
            if parent.is_none() && entry.name == LOST_AND_FOUND {
                continue;
            }
            if entry.metadata.is_dir() {
                directories.push((entry.path.clone(), Some(found.len())));
            }
            found.push(entry);
        }
    }
    Ok(found)
}

fn sorted_entries(directory: &Path) -> Result<Vec<PathBuf>, DiskError> {
    let mut paths = fs::read_dir(directory)
        .and_then(|entries| {
            entries
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<Result<Vec<_>, _>>()
        })
        .map_err(unreadable(directory))?;
    paths.sort_unstable();
    Ok(paths)
}

fn look_at(path: PathBuf, parent: Option<usize>) -> Result<Found, DiskError> {
    let metadata = path.symlink_metadata().map_err(unreadable(&path))?;
    let name = path.file_name().unwrap_or_default().as_bytes().to_owned();
    let target = if metadata.is_symlink() {
        let target = fs::read_link(&path).map_err(unreadable(&path))?;
        Some(target.into_os_string().into_vec())
    } else {
        None
    };
    let attributes = attributes(&path, &metadata)?;
    Ok(Found {
        parent,
        name,
        path,
        metadata,
        target,
        attributes,
    })
}

fn attributes(path: &Path, metadata: &Metadata) -> Result<Vec<(String, Vec<u8>)>, DiskError> {
    if !metadata.is_file() && !metadata.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |errno: rustix::io::Errno| unreadable(path)(errno.into());
    let mut none: [u8; 0] = [];
    let names_bytes = match rustix::fs::llistxattr(path, &mut none) {
        Ok(0) | Err(rustix::io::Errno::NOTSUP) => return Ok(Vec::new()),
        Ok(bytes) => bytes,
        Err(errno) => return Err(failed(errno)),
    };
    let mut names = vec![0; names_bytes];
    let read = rustix::fs::llistxattr(path, &mut names[..]).map_err(failed)?;
    let ours = names[..read]
        .split(|byte| *byte == 0)
        .filter_map(|name| std::str::from_utf8(name).ok())
        .filter(|name| name.starts_with(ATTRIBUTE_PREFIX));
    ours.map(|name| {
        let mut none: [u8; 0] = [];
        let bytes = rustix::fs::lgetxattr(path, name, &mut none).map_err(failed)?;
        let mut value = vec![0; bytes];
        let read = rustix::fs::lgetxattr(path, name, &mut value[..]).map_err(failed)?;
        value.truncate(read);
        Ok((name.to_owned(), value))
    })
    .collect()
}
