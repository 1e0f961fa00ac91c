//! Why the registry did not do what it was asked.

use kiln_model::Digest;

use crate::manifest::InvalidManifest;
use crate::{Code, MAX_BLOB_BYTES, MAX_MANIFEST_BYTES};

#[derive(Clone, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such repository")]
    NameUnknown,
    #[error("there is no such blob in this project")]
    BlobUnknown,
    #[error("the manifest {by} names this blob: delete the manifest first")]
    BlobNamed { by: Digest },
    #[error("there is no such manifest in this repository")]
    ManifestUnknown,
    #[error("the index {by} names this manifest: delete the index first")]
    ManifestNamed { by: Digest },
    #[error("the manifest is not valid: {0}")]
    ManifestInvalid(#[from] InvalidManifest),
    #[error("a manifest has at most {MAX_MANIFEST_BYTES} bytes")]
    ManifestTooLarge,
    /// Of a manifest that would name what is not there.
    #[error("the manifest names what is not in this project: push that first")]
    ContentMissing(Vec<Digest>),
    #[error("there is no such upload: it was finished, cancelled, or never started")]
    UploadUnknown,
    #[error("the chunk does not start where the upload ends, at byte {size}")]
    OutOfOrder { size: u64 },
    #[error("the chunk has {arrived} bytes, its header says {announced}")]
    WrongLength { announced: u64, arrived: u64 },
    #[error("a blob has at most {MAX_BLOB_BYTES} bytes")]
    BlobTooLarge,
    #[error(
        "the project has as much as its quota allows: delete what it does not need, or ask for more"
    )]
    QuotaExceeded,
    #[error("the digest is {expected}, the content has {actual}")]
    WrongDigest { expected: Digest, actual: Digest },
    #[error("the content stopped before its end: {0}")]
    Interrupted(String),
    #[error(transparent)]
    Store(#[from] kiln_store::Error),
}

impl Refusal {
    pub const fn code(&self) -> Code {
        match self {
            Self::NameUnknown => Code::NameUnknown,
            Self::BlobUnknown => Code::BlobUnknown,
            // The specification has no word for "not now"; this is the one that goes with its status 405.
            Self::BlobNamed { .. } | Self::ManifestNamed { .. } => Code::Unsupported,
            Self::ManifestUnknown => Code::ManifestUnknown,
            Self::ManifestInvalid(_) => Code::ManifestInvalid,
            Self::ManifestTooLarge | Self::BlobTooLarge | Self::WrongLength { .. } => {
                Code::SizeInvalid
            }
            Self::ContentMissing(_) => Code::ManifestBlobUnknown,
            Self::UploadUnknown => Code::BlobUploadUnknown,
            Self::OutOfOrder { .. } | Self::Interrupted(_) => Code::BlobUploadInvalid,
            Self::QuotaExceeded => Code::Denied,
            Self::WrongDigest { .. } => Code::DigestInvalid,
            Self::Store(_) => Code::Unknown,
        }
    }
}
