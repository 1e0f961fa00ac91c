//! Reading a layer's archive entry by entry.
//!
//! The `tar` crate reads header fields; the walk over entries is ours, because extended headers are
//! held in memory and a hostile layer decides their size: ours are bounded before they are read.

use std::io::{self, Read};

use rustix::fs::Timespec;
use tar::Header;

use super::bounds::Exceeded;
use super::entry::{Entry, EntryPath, Kind};
use super::{LayerError, shown};
use crate::Limits;

const BLOCK_BYTES: usize = 512;

/// What Linux takes for "leave the owner as it is".
const NO_ID: u32 = u32::MAX;

const NANOS_PER_SECOND_DIGITS: usize = 9;
const ATTRIBUTE_PREFIX: &[u8] = b"SCHILY.xattr.";

/// What the type byte of a header says.
mod kind {
    pub(super) const OLD_FILE: u8 = 0;
    pub(super) const FILE: u8 = b'0';
    pub(super) const HARD_LINK: u8 = b'1';
    pub(super) const SYMLINK: u8 = b'2';
    pub(super) const CHARACTER_DEVICE: u8 = b'3';
    pub(super) const BLOCK_DEVICE: u8 = b'4';
    pub(super) const DIRECTORY: u8 = b'5';
    pub(super) const PIPE: u8 = b'6';
    pub(super) const CONTIGUOUS: u8 = b'7';
    pub(super) const GLOBAL: u8 = b'g';
    pub(super) const EXTENDED: u8 = b'x';
    pub(super) const LONG_LINK: u8 = b'K';
    pub(super) const LONG_NAME: u8 = b'L';
    pub(super) const SPARSE: u8 = b'S';
}

#[derive(Debug)]
pub(super) struct Archive<R> {
    reader: R,
    /// What is left of the current entry's contents.
    body: u64,
    padding: u64,
    path_limit: usize,
    extended_limit: u64,
}

impl<R: Read> Archive<R> {
    pub(super) const fn new(reader: R, limits: &Limits) -> Self {
        Self {
            reader,
            body: 0,
            padding: 0,
            path_limit: limits.path_bytes,
            extended_limit: limits.extended_header_bytes,
        }
    }

    /// The next entry; `None` at the end. What was not read of the last one is skipped.
    pub(super) fn next_entry(&mut self) -> Result<Option<Entry>, LayerError> {
        let mut extended = Extended::default();
        loop {
            self.skip()?;
            let Some(header) = self.read_header()? else {
                return Ok(None);
            };
            let size = header.entry_size().map_err(|_| LayerError::BadHeader)?;
            match header.as_old().linkflag[0] {
                kind::EXTENDED => extended.records(&self.read_extended(size)?)?,
                kind::LONG_NAME => {
                    extended.long_path = Some(without_nul(self.read_extended(size)?));
                }
                kind::LONG_LINK => {
                    extended.long_link = Some(without_nul(self.read_extended(size)?));
                }
                // Comments of whoever made the archive; nothing in a layer depends on them.
                kind::GLOBAL => self.set_body(size),
                _ => {
                    self.set_body(extended.size.unwrap_or(size));
                    return self.entry(&header, extended).map(Some);
                }
            }
        }
    }

    /// Reads the contents of the current entry; nothing read means they are at their end.
    pub(super) fn read_body(&mut self, buffer: &mut [u8]) -> Result<usize, LayerError> {
        let want = usize::try_from(self.body).map_or(buffer.len(), |body| body.min(buffer.len()));
        if want == 0 {
            return Ok(0);
        }
        let read = read_some(&mut self.reader, &mut buffer[..want])?;
        if read == 0 {
            return Err(LayerError::Truncated);
        }
        self.body -= read as u64;
        Ok(read)
    }

    pub(super) fn into_inner(self) -> R {
        self.reader
    }

    fn set_body(&mut self, size: u64) {
        self.body = size;
        self.padding = size.wrapping_neg() % BLOCK_BYTES as u64;
    }

    fn skip(&mut self) -> Result<(), LayerError> {
        self.body = self
            .body
            .checked_add(self.padding)
            .ok_or(LayerError::BadHeader)?;
        self.padding = 0;
        let mut buffer = [0; 16 << 10];
        while self.body > 0 {
            self.read_body(&mut buffer)?;
        }
        Ok(())
    }

    /// A header block; `None` at the end mark or where the archive ends between entries.
    fn read_header(&mut self) -> Result<Option<Header>, LayerError> {
        let mut header = Header::new_old();
        let block = header.as_mut_bytes();
        let mut filled = 0;
        while filled < BLOCK_BYTES {
            match read_some(&mut self.reader, &mut block[filled..])? {
                0 if filled == 0 => return Ok(None),
                0 => return Err(LayerError::Truncated),
                read => filled += read,
            }
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let sum: u32 = block[..148]
            .iter()
            .chain(&block[156..])
            .map(|byte| u32::from(*byte))
            .sum();
        let blanks = 8 * u32::from(b' ');
        if header.cksum().ok() != Some(sum + blanks) {
            return Err(LayerError::BadHeader);
        }
        Ok(Some(header))
    }

    fn read_extended(&mut self, size: u64) -> Result<Vec<u8>, LayerError> {
        let too_large = Exceeded::ExtendedHeaderBytes(self.extended_limit);
        if size > self.extended_limit {
            return Err(too_large.into());
        }
        self.set_body(size);
        let mut bytes = vec![0; usize::try_from(size).map_err(|_| too_large)?];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += self.read_body(&mut bytes[filled..])?;
        }
        Ok(bytes)
    }

    fn entry(&self, header: &Header, extended: Extended) -> Result<Entry, LayerError> {
        // Where both are given the older form wins, as in the archives' most used reader.
        let raw = extended
            .long_path
            .or(extended.path)
            .unwrap_or_else(|| header.path_bytes().into_owned());
        let path = EntryPath::parse(&raw, self.path_limit)?;
        let link = extended
            .long_link
            .or(extended.link)
            .or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned))
            .unwrap_or_default();
        let kind = match header.as_old().linkflag[0] {
            // Archives older than the directory type mark directories by a slash.
            kind::OLD_FILE if raw.ends_with(b"/") => Kind::Directory,
            kind::OLD_FILE | kind::FILE | kind::CONTIGUOUS => Kind::File,
            kind::DIRECTORY => Kind::Directory,
            kind::SYMLINK => Kind::Symlink {
                target: self.symlink_target(&path, link)?,
            },
            kind::HARD_LINK => Kind::HardLink {
                target: self.hard_link_target(&path, &link)?,
            },
            kind::CHARACTER_DEVICE | kind::BLOCK_DEVICE | kind::PIPE => Kind::Special,
            kind::SPARSE => return Err(LayerError::Sparse { path: path.shown() }),
            other => {
                return Err(LayerError::UnknownKind {
                    path: path.shown(),
                    kind: char::from(other),
                });
            }
        };
        if extended.sparse {
            return Err(LayerError::Sparse { path: path.shown() });
        }
        let id = |id: u64| match u32::try_from(id) {
            Ok(id) if id != NO_ID => Ok(id),
            _ => Err(LayerError::NoSuchId {
                path: path.shown(),
                id,
            }),
        };
        let bad = |_: io::Error| LayerError::BadHeader;
        let seconds = header.mtime().map_err(bad)?;
        let uid = extended.uid.map_or_else(|| header.uid(), Ok).map_err(bad)?;
        let gid = extended.gid.map_or_else(|| header.gid(), Ok).map_err(bad)?;
        let (uid, gid) = (id(uid)?, id(gid)?);
        Ok(Entry {
            path,
            kind,
            mode: header.mode().map_err(bad)? & 0o7777,
            uid,
            gid,
            modified: extended.modified.unwrap_or_else(|| Timespec {
                tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX),
                tv_nsec: 0,
            }),
            attributes: extended.attributes,
        })
    }

    fn symlink_target(&self, path: &EntryPath, target: Vec<u8>) -> Result<Vec<u8>, LayerError> {
        if target.is_empty() {
            return Err(LayerError::LinkWithoutTarget { path: path.shown() });
        }
        if target.len() > self.path_limit {
            return Err(Exceeded::PathBytes(self.path_limit).into());
        }
        if target.contains(&0) {
            return Err(LayerError::NulInPath {
                path: shown(&target),
            });
        }
        Ok(target)
    }

    fn hard_link_target(&self, path: &EntryPath, raw: &[u8]) -> Result<EntryPath, LayerError> {
        let target = EntryPath::parse(raw, self.path_limit)?;
        if target.split().is_none() {
            return Err(LayerError::LinkWithoutTarget { path: path.shown() });
        }
        Ok(target)
    }
}

/// What extended headers say about the entry that follows them.
#[derive(Debug, Default)]
struct Extended {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    long_path: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
    size: Option<u64>,
    uid: Option<u64>,
    gid: Option<u64>,
    modified: Option<Timespec>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    sparse: bool,
}

impl Extended {
    /// Reads records of the form `length key=value\n`, where the length counts the whole record.
    fn records(&mut self, mut bytes: &[u8]) -> Result<(), LayerError> {
        while !bytes.is_empty() {
            let space = position(bytes, b' ')?;
            let length: usize = number(&bytes[..space])?;
            let record = bytes
                .get(space + 1..length)
                .ok_or(LayerError::BadExtendedHeader)?;
            let record = record
                .strip_suffix(b"\n")
                .ok_or(LayerError::BadExtendedHeader)?;
            let equals = position(record, b'=')?;
            self.record(&record[..equals], &record[equals + 1..])?;
            bytes = &bytes[length..];
        }
        Ok(())
    }

    fn record(&mut self, key: &[u8], value: &[u8]) -> Result<(), LayerError> {
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()),
            b"size" => self.size = Some(number(value)?),
            b"uid" => self.uid = Some(number(value)?),
            b"gid" => self.gid = Some(number(value)?),
            b"mtime" => self.modified = Some(time(value)?),
            _ if key.starts_with(b"GNU.sparse.") => self.sparse = true,
            _ => {
                if let Some(name) = key.strip_prefix(ATTRIBUTE_PREFIX) {
                    self.attributes.push((name.to_vec(), value.to_vec()));
                }
            }
        }
        Ok(())
    }
}

fn position(bytes: &[u8], wanted: u8) -> Result<usize, LayerError> {
    bytes
        .iter()
        .position(|byte| *byte == wanted)
        .ok_or(LayerError::BadExtendedHeader)
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Result<T, LayerError> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(LayerError::BadExtendedHeader);
    }
    std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(LayerError::BadExtendedHeader)
}

/// Seconds with an optional sign and fraction. Linux counts nanoseconds upwards also before 1970.
fn time(value: &[u8]) -> Result<Timespec, LayerError> {
    let (negative, value) = match value.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, value),
    };
    let (whole, fraction) = match value.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&value[..dot], &value[dot + 1..]),
        None => (value, b"".as_slice()),
    };
    let seconds: i64 = number(whole)?;
    let mut digits = [b'0'; NANOS_PER_SECOND_DIGITS];
    let kept = fraction.len().min(digits.len());
    digits[..kept].copy_from_slice(&fraction[..kept]);
    let nanos: i64 = number(&digits)?;
    Ok(match (negative, nanos) {
        (false, _) => Timespec {
            tv_sec: seconds,
            tv_nsec: nanos,
        },
        (true, 0) => Timespec {
            tv_sec: -seconds,
            tv_nsec: 0,
        },
        (true, _) => Timespec {
            tv_sec: -seconds - 1,
            tv_nsec: 1_000_000_000 - nanos,
        },
    })
}

fn without_nul(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}

fn read_some(reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize, LayerError> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return Ok(outcome?),
        }
    }
}

#[cfg(test)]
mod tests;
