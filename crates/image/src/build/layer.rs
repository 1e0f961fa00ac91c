//! Writing one layer: archive, hash, compress, hash, store, in one stream.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use flate2::{GzBuilder, write::GzEncoder};
use kiln_model::{Algorithm, Digest};

use super::{BuildError, Source};
use crate::compression::Decoder;
use crate::hashing::HashingWriter;
use crate::layout::BlobWriter;
use crate::{Compression, Descriptor, Layout, MediaType};

const BUFFER_BYTES: usize = 256 << 10;

/// Writes the layer; returns its descriptor and the digest of its uncompressed archive.
pub(super) fn write(
    source: &Source,
    compression: Compression,
    layout: &Layout,
) -> Result<(Descriptor, Digest), BuildError> {
    let blob = layout.begin_blob(Algorithm::Sha256)?;
    let mut archive = HashingWriter::new(
        BufWriter::with_capacity(BUFFER_BYTES, Encoder::new(blob, compression)),
        Algorithm::Sha256,
    );
    match source {
        Source::Directory(directory) => {
            archive = Tree::new(archive).write(directory)?;
        }
        Source::Archive(path) => copy_archive(path, &mut archive)?,
    }
    let (buffered, diff_id) = archive.finish();
    let encoder = buffered
        .into_inner()
        .map_err(|error| BuildError::Write(error.into_error()))?;
    let blob = encoder.finish().map_err(BuildError::Write)?;
    Ok((blob.commit(MediaType::OciLayer(compression))?, diff_id))
}

fn copy_archive(path: &Path, archive: &mut impl Write) -> Result<(), BuildError> {
    let failed = |source| BuildError::Read {
        path: path.to_owned(),
        source,
    };
    let file = BufReader::with_capacity(BUFFER_BYTES, File::open(path).map_err(failed)?);
    let mut plain = Decoder::detect(file).map_err(failed)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = plain.read(&mut buffer).map_err(failed)?;
        if read == 0 {
            return Ok(());
        }
        archive
            .write_all(&buffer[..read])
            .map_err(BuildError::Write)?;
    }
}

enum Encoder {
    Plain(Box<BlobWriter>),
    Gzip(Box<GzEncoder<BlobWriter>>),
}

impl Encoder {
    fn new(blob: BlobWriter, compression: Compression) -> Self {
        match compression {
            Compression::Gzip => {
                // No name, no time, and "unknown" as the operating system.
                let gzip = GzBuilder::new().mtime(0).operating_system(255);
                Self::Gzip(Box::new(gzip.write(blob, flate2::Compression::default())))
            }
            Compression::None | Compression::Zstd => Self::Plain(Box::new(blob)),
        }
    }

    fn finish(self) -> io::Result<BlobWriter> {
        match self {
            Self::Plain(blob) => Ok(*blob),
            Self::Gzip(encoder) => encoder.finish(),
        }
    }
}

impl Write for Encoder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(blob) => blob.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(blob) => blob.flush(),
            Self::Gzip(encoder) => encoder.flush(),
        }
    }
}

/// A directory on its way into an archive.
struct Tree<W: Write> {
    archive: tar::Builder<W>,
    /// The archive name of each file with several links, by device and inode.
    links: BTreeMap<(u64, u64), PathBuf>,
}

impl<W: Write> Tree<W> {
    fn new(writer: W) -> Self {
        Self {
            archive: tar::Builder::new(writer),
            links: BTreeMap::new(),
        }
    }

    fn write(mut self, directory: &Path) -> Result<W, BuildError> {
        let mut waiting = children(directory, Path::new(""))?;
        while let Some((path, name)) = waiting.pop() {
            let metadata = fs::symlink_metadata(&path).map_err(failed(&path))?;
            if metadata.is_dir() {
                let header = header(&metadata, tar::EntryType::Directory);
                self.append(header, &name.join(""), io::empty())?;
                waiting.extend(children(&path, &name)?);
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).map_err(failed(&path))?;
                let mut header = header(&metadata, tar::EntryType::Symlink);
                header.set_mode(0o777);
                self.append_link(header, &name, &target)?;
            } else if metadata.is_file() {
                self.file(&path, &name, &metadata)?;
            } else {
                return Err(BuildError::SpecialFile { path });
            }
        }
        self.archive.into_inner().map_err(BuildError::Write)
    }

    fn file(&mut self, path: &Path, name: &Path, metadata: &Metadata) -> Result<(), BuildError> {
        if metadata.nlink() > 1 {
            let inode = (metadata.dev(), metadata.ino());
            if let Some(first) = self.links.get(&inode).cloned() {
                let header = header(metadata, tar::EntryType::Link);
                return self.append_link(header, name, &first);
            }
            self.links.insert(inode, name.to_owned());
        }
        let file = File::open(path).map_err(failed(path))?;
        let mut header = header(metadata, tar::EntryType::Regular);
        header.set_size(metadata.len());
        let mut body = Exactly {
            file,
            left: metadata.len(),
        };
        self.archive
            .append_data(&mut header, name, &mut body)
            .map_err(|error| {
                if error.kind() == io::ErrorKind::UnexpectedEof {
                    BuildError::Changed {
                        path: path.to_owned(),
                    }
                } else {
                    BuildError::Write(error)
                }
            })
    }

    fn append(
        &mut self,
        mut header: tar::Header,
        name: &Path,
        body: impl Read,
    ) -> Result<(), BuildError> {
        self.archive
            .append_data(&mut header, name, body)
            .map_err(BuildError::Write)
    }

    fn append_link(
        &mut self,
        mut header: tar::Header,
        name: &Path,
        target: &Path,
    ) -> Result<(), BuildError> {
        // `append_link` tidies a target that fits the header; a link has to stay as it is.
        if header
            .set_link_name_literal(target.as_os_str().as_bytes())
            .is_ok()
        {
            return self.append(header, name, io::empty());
        }
        self.archive
            .append_link(&mut header, name, target)
            .map_err(BuildError::Write)
    }
}

/// The children of a directory, last name first, so that popping them gives them in order.
fn children(directory: &Path, name: &Path) -> Result<Vec<(PathBuf, PathBuf)>, BuildError> {
    let mut names: Vec<OsString> = Vec::new();
    for child in fs::read_dir(directory).map_err(failed(directory))? {
        names.push(child.map_err(failed(directory))?.file_name());
    }
    names.sort_unstable();
    Ok(names
        .into_iter()
        .rev()
        .map(|child| (directory.join(&child), name.join(&child)))
        .collect())
}

fn header(metadata: &Metadata, kind: tar::EntryType) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(metadata.permissions().mode() & 0o7777);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(0);
    header
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> BuildError + '_ {
    move |source| BuildError::Read {
        path: path.to_owned(),
        source,
    }
}

/// Reads exactly as many bytes as the header promised, so that a file that grows or shrinks
/// meanwhile cannot shift the rest of the archive.
struct Exactly {
    file: File,
    left: u64,
}

impl Read for Exactly {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let want = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        if want == 0 {
            return Ok(0);
        }
        let read = self.file.read(&mut buffer[..want])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        Ok(read)
    }
}
