//! To whom an image's files belong and what their modes are, where the file system cannot say: an ordinary user gives
//! files to nobody else, and has to be able to read them.
//!
//! Written down beside the root, where no layer can write: `UID GID MODE PATH` and a zero byte for each name whose owner is
//! not 0:0 or whose mode is another than that of the file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Twelve bits.
    pub(crate) mode: u16,
}

/// By path below the root; the root itself is the empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owners(BTreeMap<Vec<u8>, Owner>);

impl Owners {
    pub(crate) fn insert(&mut self, path: Vec<u8>, owner: Owner) {
        self.0.insert(path, owner);
    }

    pub(crate) fn get(&self, path: &[u8]) -> Option<Owner> {
        self.0.get(path).copied()
    }

    pub(crate) fn write(&self, to: &Path) -> io::Result<()> {
        let mut records = Vec::new();
        for (path, Owner { uid, gid, mode }) in &self.0 {
            write!(records, "{uid} {gid} {mode:o} ")?;
            records.extend_from_slice(path);
            records.push(0);
        }
        File::create_new(to)?.write_all(&records)
    }

    /// What was written; `None` when nothing was, because the files' own owners and modes are true.
    pub(crate) fn read(from: &Path) -> io::Result<Option<Self>> {
        let records = match std::fs::read(from) {
            Ok(records) => records,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(records) = records.strip_suffix(&[0]) else {
            let is_empty = records.is_empty();
            return is_empty
                .then(|| Some(Self::default()))
                .ok_or_else(|| damaged("it is cut off"));
        };
        let records = records.split(|byte| *byte == 0);
        let owners: Option<_> = records.map(parse).collect();
        Ok(Some(Self(
            owners.ok_or_else(|| damaged("it has a malformed record"))?,
        )))
    }
}

fn parse(record: &[u8]) -> Option<(Vec<u8>, Owner)> {
    let mut fields = record.splitn(4, |byte| *byte == b' ');
    let mut number = |radix| {
        let digits = std::str::from_utf8(fields.next()?).ok()?;
        u32::from_str_radix(digits, radix).ok()
    };
    let (uid, gid, mode) = (number(10)?, number(10)?, number(8)?);
    let mode = u16::try_from(mode).ok()?;
    Some((fields.next()?.to_vec(), Owner { uid, gid, mode }))
}

fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_whatever_the_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("owners");
        assert_eq!(Owners::read(&path).unwrap(), None);
        let mut owners = Owners::default();
        let owner = |uid, mode| Owner { uid, gid: 7, mode };
        owners.insert(Vec::new(), owner(u32::MAX - 1, 0));
        owners.insert(b"a b\n0 0 777 \xff".to_vec(), owner(0, 0o7777));
        owners.write(&path).unwrap();
        assert_eq!(Owners::read(&path).unwrap(), Some(owners));
    }

    #[test]
    fn nothing_to_say_is_not_the_same_as_nothing_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("owners");
        Owners::default().write(&path).unwrap();
        assert_eq!(Owners::read(&path).unwrap(), Some(Owners::default()));
    }

    #[test]
    fn damage_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("owners");
        for bytes in ["1 2 644 cut", "1 2 644\0", "x 2 644 a\0", "1 2 999 a\0"] {
            std::fs::write(&path, bytes).unwrap();
            assert!(Owners::read(&path).is_err(), "{bytes:?}");
        }
    }
}
