//! Unpacking: the layers of an image, lowest first, into one root file system.
//!
//! No path of a layer is ever resolved on the host by name: every component is walked inside the
//! root by the kernel (`openat2` with `RESOLVE_IN_ROOT`), and what is created is created with a
//! single name below an open directory, never through a link.
//!
//! What a layer asks for, and what it gets:
//!
//! | asked | given |
//! |---|---|
//! | an absolute path | the same path inside the root, as every container engine does |
//! | `..` in a path or a hard link's target | refused |
//! | a symbolic link | kept as it is, whatever it points at |
//! | a path through a symbolic link | resolved inside the root |
//! | a hard link | to a file or link already unpacked, in this layer or a lower one; else refused |
//! | a device, a pipe | skipped and counted; a sandbox makes its own `/dev` |
//! | set-user-id and set-group-id on files | taken off: nothing inside may gain rights |
//! | set-group-id on directories, sticky bits | kept: they give nobody rights |
//! | extended attributes | `user.*` kept, without `user.overlay.*`; all others dropped |
//! | owners | applied when run as root, else everything belongs to who runs this, and the cache writes them down |
//! | modes | kept; who is not root can read its own files and directories in any case, and the cache writes the modes down |
//! | sparse files, unknown kinds of entries | refused |

mod ahead;
mod archive;
mod bounds;
mod directories;
mod entry;
mod ledger;
mod metadata;
mod tree;
mod whiteout;

use std::io::{self, BufReader};
use std::path::Path;
use std::thread;

use kiln_model::Digest;
use rustix::io::Errno;

use crate::compression::Decoder;
use crate::hashing::HashingReader;
use crate::layout::LayoutError;
use crate::owners::Owners;
use crate::root::Root;
use crate::{Descriptor, Image, Layout, Limits, MediaType};

use ahead::Ahead;
use archive::Archive;
use bounds::{Bounds, Counted};
use tree::Tree;

pub use bounds::Exceeded;
pub use tree::Unpacked;

const BUFFER_BYTES: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("cannot open the root directory")]
    Root(#[source] io::Error),
    #[error("the root directory is not empty")]
    RootNotEmpty,
    #[error("image has {count} layers, more than the {limit} allowed")]
    TooManyLayers { count: usize, limit: usize },
    #[error("layer {layer} has {size} bytes, more than the {limit} allowed")]
    LayerTooLarge {
        layer: Digest,
        size: u64,
        limit: u64,
    },
    #[error("layer {layer} is of type {media_type}, which is not a layer Kiln can unpack")]
    UnsupportedLayer {
        layer: Digest,
        media_type: MediaType,
    },
    #[error("layer {layer} unpacks to {actual}, the image says {expected}")]
    DiffId {
        layer: Digest,
        expected: Digest,
        actual: Digest,
    },
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error("layer {layer} is refused")]
    Refused { layer: Digest, source: LayerError },
}

/// Why a layer cannot be unpacked. Paths are shown with everything unprintable escaped.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    #[error("its compressed bytes cannot be read")]
    Stream(#[source] io::Error),
    #[error("its archive ends in the middle of an entry")]
    Truncated,
    #[error("its archive has a damaged header")]
    BadHeader,
    #[error("its archive has a malformed extended header")]
    BadExtendedHeader,
    #[error("{path}: `..` in a path")]
    ParentComponent { path: String },
    #[error("{path}: a zero byte in a path")]
    NulInPath { path: String },
    #[error("{path}: no name")]
    NoName { path: String },
    #[error("{path}: a whiteout of nothing")]
    BadWhiteout { path: String },
    #[error("{path}: a hard link to {target}, which is not there")]
    LinkTargetMissing { path: String, target: String },
    #[error("{path}: a hard link to {target}, which is a directory")]
    LinkToDirectory { path: String, target: String },
    #[error("{path}: a link without a target")]
    LinkWithoutTarget { path: String },
    #[error("{path}: runs through something that is not a directory")]
    NotADirectory { path: String },
    #[error("{path}: runs through too many symbolic links")]
    SymlinkLoop { path: String },
    #[error("{path}: a sparse file")]
    Sparse { path: String },
    #[error("{path}: belongs to {id}, which is no user or group")]
    NoSuchId { path: String, id: u64 },
    #[error("{path}: an entry of unknown kind {kind:?}")]
    UnknownKind { path: String, kind: char },
    #[error("{path}: cannot {action}")]
    System {
        path: String,
        action: &'static str,
        source: Errno,
    },
}

/// Unpacks an image into an empty directory.
pub fn unpack(image: &Image, directory: &Path, limits: &Limits) -> Result<Unpacked, UnpackError> {
    unpack_noting_owners(image, directory, limits).map(|(unpacked, _)| unpacked)
}

/// The same, and answers to whom the files belong and what their modes are if they cannot say so themselves.
pub(crate) fn unpack_noting_owners(
    image: &Image,
    directory: &Path,
    limits: &Limits,
) -> Result<(Unpacked, Option<Owners>), UnpackError> {
    let layers = &image.manifest().layers;
    if layers.len() > limits.layers {
        return Err(UnpackError::TooManyLayers {
            count: layers.len(),
            limit: limits.layers,
        });
    }
    let root = Root::open(directory).map_err(UnpackError::Root)?;
    let mut tree = Tree::new(root, limits)?;
    let bounds = Bounds::new(limits);
    for (layer, diff_id) in layers.iter().zip(&image.config().rootfs.diff_ids) {
        let actual = unpack_layer(image.layout(), layer, diff_id, &mut tree, &bounds, limits)?;
        if actual != *diff_id {
            return Err(UnpackError::DiffId {
                layer: layer.digest.clone(),
                expected: diff_id.clone(),
                actual,
            });
        }
    }
    tree.finish().map_err(|source| UnpackError::Refused {
        layer: image.digest().clone(),
        source,
    })
}

fn unpack_layer(
    layout: &Layout,
    layer: &Descriptor,
    diff_id: &Digest,
    tree: &mut Tree<'_>,
    bounds: &Bounds,
    limits: &Limits,
) -> Result<Digest, UnpackError> {
    let Some(compression) = layer.media_type.layer_compression() else {
        return Err(UnpackError::UnsupportedLayer {
            layer: layer.digest.clone(),
            media_type: layer.media_type.clone(),
        });
    };
    if layer.size > limits.layer_bytes {
        return Err(UnpackError::LayerTooLarge {
            layer: layer.digest.clone(),
            size: layer.size,
            limit: limits.layer_bytes,
        });
    }
    let file = layout.open_blob(layer)?;
    let refused = |source| UnpackError::Refused {
        layer: layer.digest.clone(),
        source,
    };
    let compressed =
        BufReader::with_capacity(BUFFER_BYTES, Counted::new(file, bounds.compressed()));
    let plain = Decoder::new(compressed, compression)
        .map_err(|error| refused(LayerError::Stream(error)))?;
    thread::scope(|scope| {
        let ahead = Ahead::start(scope, bounds.layer(plain));
        let mut archive = Archive::new(HashingReader::new(ahead, diff_id.algorithm()), limits);
        tree.apply_layer(&mut archive).map_err(refused)?;
        // What follows the end mark still belongs to the digest.
        let mut rest = archive.into_inner();
        io::copy(&mut rest, &mut io::sink()).map_err(|error| refused(error.into()))?;
        Ok(rest.finish())
    })
}

impl From<io::Error> for LayerError {
    /// A bound that was hit travels through the decoders as an I/O error and comes out here.
    fn from(error: io::Error) -> Self {
        match error.downcast::<Exceeded>() {
            Ok(exceeded) => Self::Exceeded(exceeded),
            Err(error) => Self::Stream(error),
        }
    }
}

/// A foreign path for people to read.
fn shown(path: &[u8]) -> String {
    const SHOWN_BYTES: usize = 256;
    path[..path.len().min(SHOWN_BYTES)]
        .escape_ascii()
        .to_string()
}

#[cfg(test)]
mod tests;
