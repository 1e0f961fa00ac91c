//! The kernel inside a bzImage. A machine that is emulated takes a third of a second to unpack it by itself.

use std::fs;
use std::io;
use std::path::Path;

/// Where the header of a bzImage has what is needed here.
const MAGIC_AT: usize = 0x202;
const MAGIC: &[u8] = b"HdrS";
const SETUP_SECTORS_AT: usize = 0x1f1;
const PAYLOAD_OFFSET_AT: usize = 0x248;
const PAYLOAD_LENGTH_AT: usize = 0x24c;
const SECTOR_BYTES: usize = 512;

/// What a header that does not say means.
const DEFAULT_SETUP_SECTORS: usize = 4;

/// The beginning of a payload in the older format of LZ4, which is the one kernels use.
const LZ4_MAGIC: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];

/// Behind the blocks stands the unpacked size.
const SIZE_BYTES: usize = 4;

/// No kernel is larger.
const MAX_BYTES: usize = 512 << 20;

const ELF_MAGIC: &[u8] = b"\x7fELF";

/// The note that tells where a kernel is entered without being unpacked: the length of its name, that of what it says,
/// its kind and its name.
const NAME_LENGTH: &[u8] = b"\x04\0\0\0";
const KIND_AND_NAME_AT: usize = 8;
const KIND_AND_NAME: &[u8] = b"\x12\0\0\0Xen\0";
const NOTE_ALIGNMENT: usize = 4;

/// The kernel inside an image, if a monitor can start it. Other kinds of images are theirs to unpack.
pub(super) fn unpacked(image: &Path) -> io::Result<Option<Vec<u8>>> {
    let bytes = fs::read(image)?;
    Ok(payload(&bytes)
        .and_then(unpack)
        .filter(|kernel| can_start(kernel)))
}

fn payload(image: &[u8]) -> Option<&[u8]> {
    if image.get(MAGIC_AT..)?.get(..MAGIC.len())? != MAGIC {
        return None;
    }
    let setup = match usize::from(*image.get(SETUP_SECTORS_AT)?) {
        0 => DEFAULT_SETUP_SECTORS,
        sectors => sectors,
    };
    let start = (setup + 1) * SECTOR_BYTES + number(image, PAYLOAD_OFFSET_AT)?;
    image.get(start..)?.get(..number(image, PAYLOAD_LENGTH_AT)?)
}

fn can_start(kernel: &[u8]) -> bool {
    let is_note = |at: usize| {
        let note = &kernel[at..];
        note.starts_with(NAME_LENGTH)
            && note
                .get(KIND_AND_NAME_AT..)
                .is_some_and(|rest| rest.starts_with(KIND_AND_NAME))
    };
    kernel.starts_with(ELF_MAGIC) && (0..kernel.len()).step_by(NOTE_ALIGNMENT).any(is_note)
}

/// `None` for anything but whole blocks of LZ4.
fn unpack(payload: &[u8]) -> Option<Vec<u8>> {
    let blocks = payload.strip_prefix(&LZ4_MAGIC)?;
    let (mut blocks, size) = blocks.split_at_checked(blocks.len().checked_sub(SIZE_BYTES)?)?;
    let size = number(size, 0).filter(|size| *size <= MAX_BYTES)?;
    let mut out = Vec::with_capacity(size);
    while !blocks.is_empty() {
        let (block, rest) = blocks.get(4..)?.split_at_checked(number(blocks, 0)?)?;
        unpack_block(block, size, &mut out)?;
        blocks = rest;
    }
    (out.len() == size).then_some(out)
}

/// Pairs of bytes to take as they are and bytes to repeat; the last has nothing to repeat.
fn unpack_block(mut block: &[u8], size: usize, out: &mut Vec<u8>) -> Option<()> {
    const LEAST_REPEATED: usize = 4;
    loop {
        let (token, rest) = block.split_first()?;
        block = rest;
        let plain = length(usize::from(token >> 4), &mut block)?;
        let (plain, rest) = block.split_at_checked(plain)?;
        out.extend_from_slice(plain);
        if rest.is_empty() {
            return (out.len() <= size).then_some(());
        }
        let (distance, rest) = rest.split_first_chunk::<2>()?;
        block = rest;
        let distance = usize::from(u16::from_le_bytes(*distance));
        let repeated = length(usize::from(token & 15), &mut block)? + LEAST_REPEATED;
        let from = out.len().checked_sub(distance).filter(|_| distance > 0)?;
        if out.len() + repeated > size {
            return None;
        }
        repeat(out, from, repeated);
    }
}

/// A length that is 15 goes on in further bytes.
fn length(first: usize, block: &mut &[u8]) -> Option<usize> {
    const GOES_ON: usize = 15;
    let mut length = first;
    if first == GOES_ON {
        loop {
            let (more, rest) = block.split_first()?;
            *block = rest;
            length += usize::from(*more);
            if *more != u8::MAX {
                break;
            }
        }
    }
    Some(length)
}

/// What is repeated may run into what it becomes.
fn repeat(out: &mut Vec<u8>, from: usize, mut count: usize) {
    while count > 0 {
        let piece = count.min(out.len() - from);
        out.extend_from_within(from..from + piece);
        count -= piece;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One block in which the first word is repeated into itself, and the rest is as it is.
    fn block(tail: &[u8]) -> Vec<u8> {
        let mut block = vec![0x35, b'a', b'b', b'c', 3, 0];
        let tail_length = u8::try_from(tail.len()).unwrap();
        assert!((15..15 + 255).contains(&tail_length.into()));
        block.extend([0xf0, tail_length - 15]);
        block.extend(tail);
        block
    }

    fn lz4(blocks: &[Vec<u8>], size: usize) -> Vec<u8> {
        let mut bytes = LZ4_MAGIC.to_vec();
        for block in blocks {
            bytes.extend(u32::try_from(block.len()).unwrap().to_le_bytes());
            bytes.extend(block);
        }
        bytes.extend(u32::try_from(size).unwrap().to_le_bytes());
        bytes
    }

    fn bz_image(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 2 * SECTOR_BYTES];
        bytes[SETUP_SECTORS_AT] = 1;
        bytes[MAGIC_AT..MAGIC_AT + 4].copy_from_slice(MAGIC);
        bytes[PAYLOAD_OFFSET_AT..PAYLOAD_OFFSET_AT + 4].copy_from_slice(&3_u32.to_le_bytes());
        let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
        bytes[PAYLOAD_LENGTH_AT..PAYLOAD_LENGTH_AT + 4].copy_from_slice(&length);
        bytes.extend([0; 3]);
        bytes.extend(payload);
        bytes.extend(b"something behind it");
        bytes
    }

    #[test]
    fn what_runs_into_itself_is_repeated_and_what_is_long_is_whole() {
        let tail = [7; 40];
        let unpacked = unpack(&lz4(&[block(&tail), block(&tail)], 2 * (12 + 40))).unwrap();
        let once = [b"abcabcabcabc".as_slice(), &tail].concat();
        assert_eq!(unpacked, [once.clone(), once].concat());
    }

    #[test]
    fn the_payload_is_found_behind_the_setup() {
        assert_eq!(payload(&bz_image(b"payload")), Some(b"payload".as_slice()));
        assert_eq!(payload(b"\x7fELF"), None);
    }

    #[test]
    fn another_size_than_was_said_is_refused() {
        for size in [12 + 40 - 1, 12 + 40 + 1] {
            assert_eq!(unpack(&lz4(&[block(&[7; 40])], size)), None);
        }
    }

    #[test]
    fn what_is_cut_short_or_points_before_its_beginning_is_refused() {
        let whole = lz4(&[block(&[7; 40])], 12 + 40);
        for length in 0..whole.len() {
            assert_eq!(unpack(&whole[..length]), None, "cut at {length}");
        }
        let before = vec![0x10, b'a', 9, 0, 0x00];
        assert_eq!(unpack(&lz4(&[before], 5)), None);
    }

    #[test]
    fn only_a_kernel_that_says_where_it_is_entered_is_taken() {
        let note = [NAME_LENGTH, b"\x08\0\0\0", KIND_AND_NAME].concat();
        assert!(can_start(&[ELF_MAGIC, &note].concat()));
        assert!(!can_start(ELF_MAGIC));
        assert!(!can_start(&note));
    }
}
