//! Files without a name: they are gone with the last process that has them open, whatever ends it.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{
    FallocateFlags, MemfdFlags, Mode, OFlags, SeekFrom, fallocate, memfd_create, open, seek,
};
use rustix::io::Errno;

use crate::Error;

/// What is copied at once.
const PIECE_BYTES: u64 = 1 << 20;

/// A file that only processes of this user can reach, by way of this process.
#[derive(Debug)]
pub(crate) struct HiddenFile(File);

impl HiddenFile {
    /// On the disk that holds `directory`.
    pub(crate) fn create(directory: &Path) -> Result<Self, Error> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        // Without a name nobody finds it, whatever its mode; a jailed monitor of another user finds a link to it.
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        open(directory, flags, mode)
            .map(|file| Self(file.into()))
            .map_err(|errno| {
                Error::host(
                    format!("cannot make a file in {}", directory.display()),
                    errno,
                )
            })
    }

    /// In memory, so that nothing of it is ever written to a disk while something is measured.
    pub(crate) fn in_memory() -> Result<Self, Error> {
        memfd_create("kiln-hidden", MemfdFlags::CLOEXEC)
            .map(|file| Self(file.into()))
            .map_err(|errno| Error::host("cannot make a file in memory", errno))
    }

    /// Makes this one, which is empty, the same as another.
    pub(crate) fn fill_from(self, source: &Self) -> Result<Self, Error> {
        copy_with_holes(&source.0, &self.0)
            .map_err(|error| Error::host("cannot copy a file", error))?;
        Ok(self)
    }

    /// A path by which a child can open it as long as this process lives.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// What it takes of the disk or memory that it is on: holes take nothing.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        self.0.metadata().map_or(0, |found| allocated_bytes(&found))
    }

    /// Which parts of it are no holes.
    pub(crate) fn data(&self) -> Result<Vec<Range<u64>>, Error> {
        data(&self.0).map_err(|error| Error::host("cannot look for holes in a file", error))
    }

    /// Makes holes of all but these parts, which are in order. The rest must be zeros: whoever has mapped it sees no
    /// difference.
    pub(crate) fn keep_only(&self, parts: &[Range<u64>]) -> Result<(), Error> {
        let failed = |error| Error::host("cannot make holes in a file", error);
        let length = self.0.metadata().map_err(failed)?.len();
        let ends = parts.iter().map(|part| part.start).chain([length]);
        let starts = [0].into_iter().chain(parts.iter().map(|part| part.end));
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        for (start, end) in starts.zip(ends).filter(|(start, end)| start < end) {
            fallocate(&self.0, flags, start, end - start).map_err(|errno| failed(errno.into()))?;
        }
        Ok(())
    }

    pub(crate) fn file(&self) -> &File {
        &self.0
    }
}

/// What a file takes of its disk: holes take nothing.
pub(crate) fn allocated_bytes(found: &Metadata) -> u64 {
    const UNIT: u64 = 512;
    found.blocks() * UNIT
}

/// Makes `target`, which is empty, the same as another file. Holes stay holes.
pub(crate) fn copy_with_holes(source: &File, target: &File) -> io::Result<()> {
    target.set_len(source.metadata()?.len())?;
    let mut buffer = Vec::new();
    for Range { start: mut at, end } in data(source)? {
        while at < end {
            let piece = PIECE_BYTES.min(end - at);
            buffer.resize(usize::try_from(piece).unwrap_or(usize::MAX), 0);
            source.read_exact_at(&mut buffer, at)?;
            target.write_all_at(&buffer, at)?;
            at += piece;
        }
    }
    Ok(())
}

fn data(file: &File) -> io::Result<Vec<Range<u64>>> {
    let mut parts = Vec::new();
    let mut at = 0;
    loop {
        at = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => return Ok(parts),
            Err(errno) => return Err(errno.into()),
        };
        let end = seek(file, SeekFrom::Hole(at))?;
        parts.push(at..end);
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_same_bytes_and_the_same_holes() {
        const HOLE_BYTES: u64 = 64 << 20;
        let directory = tempfile::tempdir().unwrap();
        let source = HiddenFile::create(directory.path()).unwrap();
        source.file().write_all_at(b"first", 0).unwrap();
        source.file().write_all_at(b"last", HOLE_BYTES).unwrap();
        source.file().set_len(2 * HOLE_BYTES).unwrap();
        let elsewhere = HiddenFile::create(directory.path()).unwrap();
        for empty in [HiddenFile::in_memory().unwrap(), elsewhere] {
            let copy = empty.fill_from(&source).unwrap();
            let mut bytes = [0; 5];
            copy.file().read_exact_at(&mut bytes, 0).unwrap();
            assert_eq!(&bytes, b"first");
            copy.file().read_exact_at(&mut bytes, HOLE_BYTES).unwrap();
            assert_eq!(&bytes, b"last\0");
            assert_eq!(copy.file().metadata().unwrap().len(), 2 * HOLE_BYTES);
            let allocated = copy.allocated_bytes();
            assert!((9..HOLE_BYTES).contains(&allocated), "{allocated}");
        }
    }

    #[test]
    fn what_has_grown_is_given_back_and_what_was_there_stays() {
        const STEP: u64 = 1 << 20;
        let file = HiddenFile::in_memory().unwrap();
        file.file().set_len(8 * STEP).unwrap();
        file.file().write_all_at(b"here", 2 * STEP).unwrap();
        let (data, before) = (file.data().unwrap(), file.allocated_bytes());
        assert_eq!(data.len(), 1);
        for at in [0, 4 * STEP, 8 * STEP - 1] {
            file.file().write_all_at(&[0], at).unwrap();
        }
        assert!(file.allocated_bytes() > before);
        file.keep_only(&data).unwrap();
        assert_eq!(file.allocated_bytes(), before);
        assert_eq!(file.file().metadata().unwrap().len(), 8 * STEP);
        let mut bytes = [0; 4];
        file.file().read_exact_at(&mut bytes, 2 * STEP).unwrap();
        assert_eq!(&bytes, b"here");
    }
}
