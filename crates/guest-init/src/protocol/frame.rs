//! Frames on a byte stream: body length (`u32`), version (`u8`), kind (`u8`), body.

use std::io::{self, Read};

use super::codec::Malformed;

/// The version both sides must speak. It grows with every change of a message.
pub const VERSION: u8 = 5;

/// Length, version and kind.
pub const HEADER_BYTES: usize = 6;

/// The longest body. A start message carries a whole environment, which Linux itself bounds near 2 MiB.
pub const MAX_BODY_BYTES: u32 = 4 << 20;

/// One frame whose header was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub(super) kind: u8,
    pub(super) body: Vec<u8>,
}

pub(super) fn write_frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("a body is far below 4 GiB");
    let mut frame = Vec::with_capacity(HEADER_BYTES + body.len());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.push(VERSION);
    frame.push(kind);
    frame.extend_from_slice(body);
    frame
}

/// Reads exactly one frame and not a byte more, so that another process can read the next one.
pub fn read_frame(stream: &mut impl Read) -> io::Result<Frame> {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header)?;
    let (length, kind) = check_header(header).map_err(io::Error::other)?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Frame { kind, body })
}

/// Collects bytes as they arrive and gives out whole frames.
#[derive(Debug, Default)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    used: usize,
}

impl FrameBuffer {
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.used);
        self.used = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame, or `None` when more bytes are needed.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Malformed> {
        let rest = &self.bytes[self.used..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let (length, kind) = check_header(*header)?;
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let body = body.to_vec();
        self.used += HEADER_BYTES + length;
        Ok(Some(Frame { kind, body }))
    }
}

fn check_header(header: [u8; HEADER_BYTES]) -> Result<(usize, u8), Malformed> {
    let [a, b, c, d, version, kind] = header;
    let length = u32::from_le_bytes([a, b, c, d]);
    if version != VERSION {
        return Err(Malformed::Version(version));
    }
    if length > MAX_BODY_BYTES {
        return Err(Malformed::TooLong(length));
    }
    Ok((
        usize::try_from(length).map_err(|_| Malformed::TooLong(length))?,
        kind,
    ))
}
