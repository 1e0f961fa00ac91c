//! Lines of a recording: a checksum, a space, and an entry as JSON. Anyone can read one.

use std::io::{self, BufRead};

use sha2::{Digest as _, Sha256};

use super::entry::Entry;

/// Hexadecimal digits of the checksum. They find accidents, not forgeries.
const CHECKSUM: usize = 16;

/// Why a recording cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("line {line} is damaged")]
    Damaged { line: u64 },
    /// The last line was not written whole, as after a crash. What came before it is good.
    #[error("line {line} is cut off")]
    CutOff { line: u64 },
    #[error("it is not a recording of a kernel worker")]
    Foreign,
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub(super) fn write(entry: &Entry) -> String {
    let json = serde_json::to_string(entry).expect("an entry is plain data");
    format!("{} {json}\n", checksum(json.as_bytes()))
}

/// Reads entry by entry, however long the recording is.
pub(super) struct Lines {
    from: Box<dyn BufRead + Send>,
    line: u64,
}

impl Lines {
    pub(super) fn new(from: impl BufRead + Send + 'static) -> Self {
        Self {
            from: Box::new(from),
            line: 0,
        }
    }

    /// The line that was read last, counted from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    pub(super) fn next(&mut self) -> Result<Option<Entry>, Unreadable> {
        let mut bytes = Vec::new();
        if self.from.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.line += 1;
        let line = self.line;
        if bytes.pop() != Some(b'\n') {
            return Err(Unreadable::CutOff { line });
        }
        let json = checked(&bytes).ok_or(Unreadable::Damaged { line })?;
        serde_json::from_slice(json)
            .map(Some)
            .map_err(|_| Unreadable::Damaged { line })
    }
}

fn checked(line: &[u8]) -> Option<&[u8]> {
    let (stated, rest) = line.split_at_checked(CHECKSUM)?;
    let json = rest.strip_prefix(b" ")?;
    (checksum(json).as_bytes() == stated).then_some(json)
}

fn checksum(json: &[u8]) -> String {
    kiln_kernel::hex::encode(&Sha256::digest(json)[..CHECKSUM / 2])
}
