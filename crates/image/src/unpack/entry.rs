//! One entry of a layer's archive, and the path it names.

use rustix::fs::Timespec;

use super::bounds::Exceeded;
use super::{LayerError, shown};

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub path: EntryPath,
    pub kind: Kind,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub modified: Timespec,
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Symlink {
        target: Vec<u8>,
    },
    HardLink {
        target: EntryPath,
    },
    /// A device or a pipe.
    Special,
}

/// A path inside the root: no empty parts, no `.`, no `..`, no zero bytes. Empty is the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EntryPath {
    bytes: Vec<u8>,
}

impl EntryPath {
    pub(super) fn parse(raw: &[u8], limit: usize) -> Result<Self, LayerError> {
        if raw.len() > limit {
            return Err(Exceeded::PathBytes(limit).into());
        }
        if raw.contains(&0) {
            return Err(LayerError::NulInPath { path: shown(raw) });
        }
        let mut bytes = Vec::with_capacity(raw.len());
        for part in raw.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." => return Err(LayerError::ParentComponent { path: shown(raw) }),
                name => {
                    if !bytes.is_empty() {
                        bytes.push(b'/');
                    }
                    bytes.extend_from_slice(name);
                }
            }
        }
        Ok(Self { bytes })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The directory and the name in it; `None` for the root itself.
    pub(super) fn split(&self) -> Option<(&[u8], &[u8])> {
        if self.bytes.is_empty() {
            return None;
        }
        Some(match self.bytes.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&self.bytes[..slash], &self.bytes[slash + 1..]),
            None => (b"", &self.bytes),
        })
    }

    pub(super) fn shown(&self) -> String {
        shown(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(raw: &[u8]) -> Result<EntryPath, LayerError> {
        EntryPath::parse(raw, 100)
    }

    #[test]
    fn dots_and_slashes_that_mean_nothing_go_away() {
        for raw in [b"a/b".as_slice(), b"/a/b", b"./a//b/", b"//a/./b/."] {
            assert_eq!(parse(raw).unwrap().as_bytes(), b"a/b");
        }
        for root in [b"".as_slice(), b"/", b"./", b"."] {
            assert_eq!(parse(root).unwrap().split(), None);
        }
    }

    #[test]
    fn parents_zero_bytes_and_lengths_are_refused() {
        for raw in [b"..".as_slice(), b"a/../b", b"/..", b"a/.."] {
            assert!(matches!(
                parse(raw),
                Err(LayerError::ParentComponent { .. })
            ));
        }
        assert!(matches!(parse(b"a\0b"), Err(LayerError::NulInPath { .. })));
        assert!(matches!(
            parse(&[b'a'; 101]),
            Err(LayerError::Exceeded(Exceeded::PathBytes(100)))
        ));
    }

    #[test]
    fn names_that_only_look_like_parents_are_names() {
        assert_eq!(
            parse(b"a/...").unwrap().split(),
            Some((b"a".as_slice(), b"...".as_slice()))
        );
    }
}
