//! Sending files to the host once nothing in the chamber can change them any more.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use kiln_guest_init::protocol::{FileOutcome, FileRequest, MAX_CHUNK_BYTES, Stage, ToHost};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use crate::fault::{At, Fault};
use crate::pid1::tell;

/// Sends each requested file below a root, or why it is not sent; all together at most `total` bytes of them.
pub(crate) fn send_files(
    host: &mut UnixStream,
    root: &str,
    requests: &[FileRequest],
    total: u64,
) -> Result<(), Fault> {
    if requests.is_empty() {
        return Ok(());
    }
    let root = openat(
        CWD,
        root,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .at(Stage::Collect, || "cannot open the root".into())?;
    // Only looked at: held open, they might be more than a process may have.
    let sizes: Vec<u64> = requests
        .iter()
        .map(|request| size(&root, &request.path).min(request.max_bytes))
        .collect();
    let limit = fair_limit(&sizes, total);
    for ((index, request), size) in (0..).zip(requests).zip(sizes) {
        let outcome = send_file(host, &root, index, &request.path, size.min(limit))?;
        tell(host, &ToHost::FileEnd { index, outcome })?;
    }
    Ok(())
}

/// Of a file that will be sent; nothing if it will not.
fn size(root: &OwnedFd, path: &str) -> u64 {
    open(root, path)
        .and_then(fstat)
        .map_or(0, |found| u64::try_from(found.st_size).unwrap_or(0))
}

/// The largest limit for each that keeps all within `total`: small files stay whole whatever comes before them.
fn fair_limit(sizes: &[u64], total: u64) -> u64 {
    let mut ascending = sizes.to_vec();
    ascending.sort_unstable();
    let mut left = total;
    for (place, size) in ascending.iter().enumerate() {
        let share = left / (ascending.len() - place) as u64;
        if *size > share {
            return share;
        }
        left -= size;
    }
    u64::MAX
}

fn send_file(
    host: &mut UnixStream,
    root: &OwnedFd,
    index: u32,
    path: &str,
    limit: u64,
) -> Result<FileOutcome, Fault> {
    let file = match open(root, path) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(FileOutcome::Missing),
        Err(Errno::LOOP) => return Ok(refused("it is a link")),
        Err(Errno::XDEV) => return Ok(refused("it is not on the chamber's own disk")),
        Err(errno) => return Ok(refused(&errno.to_string())),
    };
    let found = fstat(&file).at(Stage::Collect, || "cannot look at a file".into())?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Ok(refused("it is not a regular file"));
    }
    let size = u64::try_from(found.st_size).unwrap_or(0);
    let mut left = limit;
    let mut buffer = vec![0; MAX_CHUNK_BYTES];
    while left > 0 {
        let room = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let count = rustix::io::read(&file, &mut buffer[..room])
            .at(Stage::Collect, || "cannot read a file".into())?;
        if count == 0 {
            break;
        }
        left -= count as u64;
        tell(
            host,
            &ToHost::FileChunk {
                index,
                bytes: buffer[..count].to_vec(),
            },
        )?;
    }
    Ok(if size > limit {
        FileOutcome::Truncated { size }
    } else {
        FileOutcome::Whole
    })
}

/// Opens without leaving the chamber's disk: links on the way resolve inside its root, the file itself may be none, and
/// other mounts (`/proc`, `/dev`) are out of bounds. A FIFO must not make us wait.
fn open(root: &OwnedFd, path: &str) -> rustix::io::Result<OwnedFd> {
    openat2(
        root,
        path,
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV,
    )
}

fn refused(reason: &str) -> FileOutcome {
    FileOutcome::Refused {
        reason: reason.to_owned(),
    }
}
