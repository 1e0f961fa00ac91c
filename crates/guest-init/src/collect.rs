//! Sending files to the host once nothing in the chamber can change them any more.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use kiln_guest_init::protocol::{FileOutcome, FileRequest, MAX_CHUNK_BYTES, Stage, ToHost};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use crate::fault::{At, Fault};
use crate::pid1::tell;

/// Sends each requested file below a root, or why it is not sent.
pub(crate) fn send_files(
    host: &mut UnixStream,
    root: &str,
    requests: &[FileRequest],
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
    for (index, request) in (0..).zip(requests) {
        let outcome = send_file(host, &root, index, request)?;
        tell(host, &ToHost::FileEnd { index, outcome })?;
    }
    Ok(())
}

fn send_file(
    host: &mut UnixStream,
    root: &OwnedFd,
    index: u32,
    request: &FileRequest,
) -> Result<FileOutcome, Fault> {
    let file = match open(root, &request.path) {
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
    let mut left = request.max_bytes;
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
    Ok(if size > request.max_bytes {
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
