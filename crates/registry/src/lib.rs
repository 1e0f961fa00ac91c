#![doc = include_str!("../README.md")]

mod blobs;
mod code;
mod collect;
mod listings;
mod manifest;
mod manifests;
mod name;
mod pieces;
mod quota;
mod refusal;
mod registry;
mod route;
mod running_hash;
mod upload_id;
mod uploads;
mod verify;

#[cfg(test)]
mod tests;

pub use blobs::Blob;
pub use code::Code;
pub use collect::{Collected, Cursor, GRACE, Keep};
pub use listings::{MAX_PAGE, Page};
pub use manifest::{
    Content, InvalidManifest, Listed, MAX_DESCRIPTORS, MAX_MANIFEST_BYTES, MediaType,
};
pub use manifests::{Manifest, NewManifest, Pushed};
pub use name::{InvalidName, InvalidTag, MAX_NAME_BYTES, MAX_TAG_BYTES, Name, Reference, Tag};
pub use quota::Usage;
pub use refusal::Refusal;
pub use registry::{MAX_BLOB_BYTES, Registry, Repository};
pub use route::{Misroute, Route, Target};
pub use upload_id::{NotAnUpload, UploadId};
pub use uploads::{Chunk, Session};
pub use verify::{Damaged, Verified, VerifyCursor};
