//! An OCI layout: a directory with blobs by digest and an index of the images in it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use kiln_model::{Algorithm, Digest};
use tempfile::NamedTempFile;

use crate::descriptor::REF_NAME;
use crate::hashing::{HashingWriter, digest_of};
use crate::limits::MAX_MANIFEST_BYTES;
use crate::manifest::{Manifest, ManifestError};
use crate::{Descriptor, ImageIndex, MediaType, Tag};

const LAYOUT_FILE: &str = "oci-layout";
const LAYOUT_VERSION: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
const INDEX_FILE: &str = "index.json";
const PARTIAL_PREFIX: &str = "tmp-";

#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("cannot {action} {path}")]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{0} is not an OCI layout: it has no `oci-layout` file")]
    NotALayout(PathBuf),
    #[error("index of OCI layout {path} is malformed")]
    Index {
        path: PathBuf,
        source: ManifestError,
    },
    #[error("blob {digest} is missing")]
    Missing { digest: Digest },
    #[error("blob {digest} has {actual} bytes, its descriptor says {expected}")]
    Size {
        digest: Digest,
        expected: u64,
        actual: u64,
    },
    #[error("blob should hash to {expected} but hashes to {actual}")]
    Digest { expected: Digest, actual: Digest },
}

/// A directory of blobs and the images made of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    directory: PathBuf,
}

impl Layout {
    /// Opens the layout in `directory`, making an empty one if there is none.
    pub fn create(directory: impl Into<PathBuf>) -> Result<Self, LayoutError> {
        let layout = Self {
            directory: directory.into(),
        };
        let blobs = layout.directory.join("blobs");
        for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
            let path = blobs.join(algorithm.name());
            fs::create_dir_all(&path).map_err(failed("create", &path))?;
        }
        if !layout.directory.join(INDEX_FILE).exists() {
            layout.write_index(&ImageIndex::new(Vec::new()))?;
        }
        layout.replace_file(LAYOUT_FILE, LAYOUT_VERSION.as_bytes())?;
        Ok(layout)
    }

    /// Opens an existing layout.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, LayoutError> {
        let layout = Self {
            directory: directory.into(),
        };
        if !layout.directory.join(LAYOUT_FILE).is_file() {
            return Err(LayoutError::NotALayout(layout.directory));
        }
        Ok(layout)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn index(&self) -> Result<ImageIndex, LayoutError> {
        let path = self.directory.join(INDEX_FILE);
        let file = File::open(&path).map_err(failed("open", &path))?;
        let bytes = read_bounded(file, MAX_MANIFEST_BYTES).map_err(failed("read", &path))?;
        match Manifest::parse(&bytes, Some(&MediaType::OciIndex)) {
            Ok(Manifest::Index(index)) => Ok(index),
            Ok(Manifest::Image(_)) => Err(LayoutError::Index {
                path,
                source: ManifestError::NotAManifest(MediaType::OciManifest),
            }),
            Err(source) => Err(LayoutError::Index { path, source }),
        }
    }

    /// The image a tag names, or the only image there is when no tag is given.
    pub fn find(&self, tag: Option<&Tag>) -> Result<Option<Descriptor>, LayoutError> {
        let mut manifests = self.index()?.manifests;
        Ok(match tag {
            Some(tag) => manifests
                .into_iter()
                .find(|descriptor| descriptor.annotation(REF_NAME) == Some(tag.as_str())),
            None if manifests.len() == 1 => manifests.pop(),
            None => None,
        })
    }

    /// Lists an image in the index, under a tag if given; the tag leaves the image it named before.
    pub fn add(&self, image: &Descriptor, tag: Option<&Tag>) -> Result<(), LayoutError> {
        let mut index = self.index()?;
        index
            .manifests
            .retain(|listed| match (listed.annotation(REF_NAME), tag) {
                (Some(name), Some(tag)) => name != tag.as_str(),
                (None, None) => listed.digest != image.digest,
                (Some(_), None) | (None, Some(_)) => true,
            });
        let mut listed = image.clone();
        if let Some(tag) = tag {
            let annotations = listed.annotations.get_or_insert_default();
            annotations.insert(REF_NAME.to_owned(), tag.to_string());
        }
        index.manifests.push(listed);
        self.write_index(&index)
    }

    pub fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.directory
            .join("blobs")
            .join(digest.algorithm().name())
            .join(digest.hex())
    }

    /// Whether the blob is here, in its full size.
    pub fn has(&self, descriptor: &Descriptor) -> bool {
        fs::metadata(self.blob_path(&descriptor.digest))
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() == descriptor.size)
    }

    /// Opens a blob whose size is as its descriptor says.
    pub fn open_blob(&self, descriptor: &Descriptor) -> Result<File, LayoutError> {
        let path = self.blob_path(&descriptor.digest);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LayoutError::Missing {
                    digest: descriptor.digest.clone(),
                });
            }
            Err(error) => return Err(failed("open", &path)(error)),
        };
        let actual = file.metadata().map_err(failed("read", &path))?.len();
        if actual != descriptor.size {
            return Err(LayoutError::Size {
                digest: descriptor.digest.clone(),
                expected: descriptor.size,
                actual,
            });
        }
        Ok(file)
    }

    /// Reads a small blob and checks its digest.
    pub fn read_blob(&self, descriptor: &Descriptor) -> Result<Vec<u8>, LayoutError> {
        let file = self.open_blob(descriptor)?;
        let path = self.blob_path(&descriptor.digest);
        let bytes = read_bounded(file, descriptor.size).map_err(failed("read", &path))?;
        let actual = digest_of(descriptor.digest.algorithm(), &bytes);
        if actual != descriptor.digest {
            return Err(LayoutError::Digest {
                expected: descriptor.digest.clone(),
                actual,
            });
        }
        Ok(bytes)
    }

    /// Begins a blob whose digest is known only when its last byte is written.
    pub fn begin_blob(&self, algorithm: Algorithm) -> Result<BlobWriter, LayoutError> {
        let directory = self.directory.join("blobs").join(algorithm.name());
        let file = tempfile::Builder::new()
            .prefix(PARTIAL_PREFIX)
            .tempfile_in(&directory)
            .map_err(failed("write in", &directory))?;
        Ok(BlobWriter {
            layout: self.clone(),
            file: HashingWriter::new(file, algorithm),
            size: 0,
        })
    }

    /// Stores bytes as a blob.
    pub fn put_blob(&self, media_type: MediaType, bytes: &[u8]) -> Result<Descriptor, LayoutError> {
        let mut writer = self.begin_blob(Algorithm::Sha256)?;
        writer
            .write_all(bytes)
            .map_err(failed("write in", &self.directory))?;
        writer.commit(media_type)
    }

    fn write_index(&self, index: &ImageIndex) -> Result<(), LayoutError> {
        let bytes = serde_json::to_vec(index).expect("an index has only text keys");
        self.replace_file(INDEX_FILE, &bytes)
    }

    fn replace_file(&self, name: &str, bytes: &[u8]) -> Result<(), LayoutError> {
        let path = self.directory.join(name);
        let write = || -> io::Result<()> {
            let mut file = tempfile::Builder::new()
                .prefix(PARTIAL_PREFIX)
                .tempfile_in(&self.directory)?;
            file.write_all(bytes)?;
            persist(file, &path)
        };
        write().map_err(failed("write", &path))
    }
}

/// A blob being written. It is in the layout only after `commit` or `commit_as`; dropped before, it
/// leaves nothing.
#[derive(Debug)]
pub struct BlobWriter {
    layout: Layout,
    file: HashingWriter<NamedTempFile>,
    size: u64,
}

impl BlobWriter {
    /// Stores the blob under the digest its bytes have.
    pub fn commit(self, media_type: MediaType) -> Result<Descriptor, LayoutError> {
        let (file, digest) = self.file.finish();
        let path = self.layout.blob_path(&digest);
        persist(file, &path).map_err(failed("write", &path))?;
        Ok(Descriptor::new(media_type, digest, self.size))
    }

    /// Stores the blob if its bytes are those the descriptor names.
    pub fn commit_as(self, expected: &Descriptor) -> Result<(), LayoutError> {
        let (file, actual) = self.file.finish();
        if self.size != expected.size {
            return Err(LayoutError::Size {
                digest: expected.digest.clone(),
                expected: expected.size,
                actual: self.size,
            });
        }
        if actual != expected.digest {
            return Err(LayoutError::Digest {
                expected: expected.digest.clone(),
                actual,
            });
        }
        let path = self.layout.blob_path(&actual);
        persist(file, &path).map_err(failed("write", &path))
    }
}

impl Write for BlobWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The bytes reach the disk before the name does, so a crash never leaves a name without bytes.
fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))?;
    file.as_file().sync_data()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn read_bounded(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "larger than it may be",
        ));
    }
    Ok(bytes)
}

fn failed<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> LayoutError + 'a {
    move |source| LayoutError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> (tempfile::TempDir, Layout) {
        let directory = tempfile::tempdir().unwrap();
        let layout = Layout::create(directory.path()).unwrap();
        (directory, layout)
    }

    #[test]
    fn a_directory_without_the_mark_is_no_layout() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(
            Layout::open(directory.path()),
            Err(LayoutError::NotALayout(_))
        ));
        Layout::create(directory.path()).unwrap();
        Layout::open(directory.path()).unwrap();
    }

    #[test]
    fn making_a_layout_again_keeps_what_it_lists() {
        let (directory, layout) = layout();
        let blob = layout.put_blob(MediaType::OciManifest, b"{}").unwrap();
        layout.add(&blob, None).unwrap();
        let again = Layout::create(directory.path()).unwrap();
        assert_eq!(again.find(None).unwrap(), Some(blob));
    }

    #[test]
    fn a_blob_that_is_missing_cut_or_changed_is_named() {
        let (_directory, layout) = layout();
        let blob = layout.put_blob(MediaType::OciConfig, b"contents").unwrap();
        let path = layout.blob_path(&blob.digest);
        assert_eq!(layout.read_blob(&blob).unwrap(), b"contents");
        fs::write(&path, "contentz").unwrap();
        assert!(matches!(
            layout.read_blob(&blob),
            Err(LayoutError::Digest { .. })
        ));
        fs::write(&path, "con").unwrap();
        assert!(matches!(
            layout.read_blob(&blob),
            Err(LayoutError::Size { actual: 3, .. })
        ));
        fs::remove_file(&path).unwrap();
        assert!(matches!(
            layout.read_blob(&blob),
            Err(LayoutError::Missing { .. })
        ));
    }

    #[test]
    fn a_blob_given_up_leaves_nothing() {
        let (_directory, layout) = layout();
        let mut writer = layout.begin_blob(Algorithm::Sha256).unwrap();
        writer.write_all(b"half").unwrap();
        drop(writer);
        let blobs = layout.directory().join("blobs/sha256");
        assert_eq!(fs::read_dir(blobs).unwrap().count(), 0);
    }

    #[test]
    fn a_blob_under_the_longer_digest_is_checked_by_it() {
        let (_directory, layout) = layout();
        let digest = digest_of(Algorithm::Sha512, b"contents");
        let blob = Descriptor::new(MediaType::OciConfig, digest, 8);
        let mut writer = layout.begin_blob(Algorithm::Sha512).unwrap();
        writer.write_all(b"contents").unwrap();
        writer.commit_as(&blob).unwrap();
        assert_eq!(layout.read_blob(&blob).unwrap(), b"contents");
    }
}
