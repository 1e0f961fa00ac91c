//! Fixed-width fields at fixed places, and the checks that every frame starts with.

use crate::WireError;

const VERSION: [u8; 4] = [0, 0, 0, 0];

/// The `N` bytes at `at`; the caller has checked the length of the buffer.
pub(crate) fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N]
        .try_into()
        .expect("a slice of N bytes is an array of N bytes")
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(field(bytes, at))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(field(bytes, at))
}

pub(crate) fn i64_at(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(field(bytes, at))
}

/// Magic, version, length and the reserved field, in the order in which the original refuses them.
pub(super) fn check_head(bytes: &[u8], magic: [u8; 4], header: usize) -> Result<usize, WireError> {
    if bytes.len() < header {
        return Err(WireError::Truncated);
    }
    if bytes[0..4] != magic {
        return Err(WireError::Format);
    }
    if bytes[4..8] != VERSION {
        return Err(WireError::Version);
    }
    let stated = widen(u32_at(bytes, 8));
    if stated < header {
        return Err(WireError::Format);
    }
    if stated > bytes.len() {
        return Err(WireError::Truncated);
    }
    if stated != bytes.len() || bytes[14..16] != [0, 0] {
        return Err(WireError::Format);
    }
    Ok(stated)
}

pub(super) fn widen(length: u32) -> usize {
    usize::try_from(length).expect("a 32-bit length fits the address space")
}
