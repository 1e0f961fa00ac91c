//! Digests of bytes as they stream by.

use std::io::{self, Read, Write};

use kiln_model::{Algorithm, Digest};
use sha2::{Digest as _, Sha256, Sha512};

#[derive(Clone, Debug)]
pub(crate) enum Hasher {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl Hasher {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha256 => Self::Sha256(Sha256::new()),
            Algorithm::Sha512 => Self::Sha512(Sha512::new()),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        match self {
            Self::Sha256(hasher) => Digest::from_hash(&hasher.finalize()),
            Self::Sha512(hasher) => Digest::from_hash(&hasher.finalize()),
        }
        .expect("both hashes have a length a digest knows")
    }
}

/// The digest of bytes in memory.
pub(crate) fn digest_of(algorithm: Algorithm, bytes: &[u8]) -> Digest {
    let mut hasher = Hasher::new(algorithm);
    hasher.update(bytes);
    hasher.finish()
}

#[derive(Debug)]
pub(crate) struct HashingWriter<W> {
    inner: W,
    hasher: Hasher,
}

impl<W> HashingWriter<W> {
    pub(crate) fn new(inner: W, algorithm: Algorithm) -> Self {
        Self {
            inner,
            hasher: Hasher::new(algorithm),
        }
    }

    pub(crate) fn finish(self) -> (W, Digest) {
        (self.inner, self.hasher.finish())
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[derive(Debug)]
pub(crate) struct HashingReader<R> {
    inner: R,
    hasher: Hasher,
}

impl<R> HashingReader<R> {
    pub(crate) fn new(inner: R, algorithm: Algorithm) -> Self {
        Self {
            inner,
            hasher: Hasher::new(algorithm),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        self.hasher.finish()
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        Ok(read)
    }
}
