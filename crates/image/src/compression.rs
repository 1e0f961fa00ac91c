//! Reading a layer's archive through whatever compressed it.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

use crate::Compression;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The largest window a zstd layer may ask for, as a power of two: 128 MiB, zstd's own default.
const ZSTD_WINDOW_LOG: u32 = 27;

/// A decompressor. Several members or frames after one another are one stream, as layers made for
/// lazy pulling have them.
pub(crate) enum Decoder<R: BufRead> {
    Plain(R),
    Gzip(Box<MultiGzDecoder<R>>),
    Zstd(zstd::Decoder<'static, R>),
}

impl<R: BufRead> Decoder<R> {
    pub(crate) fn new(reader: R, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Self::Plain(reader),
            Compression::Gzip => Self::Gzip(Box::new(MultiGzDecoder::new(reader))),
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(reader)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Self::Zstd(decoder)
            }
        })
    }

    /// Chooses by the first bytes, for archives that come without a media type.
    pub(crate) fn detect(mut reader: R) -> io::Result<Self> {
        let start = reader.fill_buf()?;
        let compression = if start.starts_with(&GZIP_MAGIC) {
            Compression::Gzip
        } else if start.starts_with(&ZSTD_MAGIC) {
            Compression::Zstd
        } else {
            Compression::None
        };
        Self::new(reader, compression)
    }
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(reader) => reader.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        }
    }
}
