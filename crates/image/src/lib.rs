#![doc = include_str!("../README.md")]

mod build;
mod cache;
mod command;
mod compression;
mod config;
mod descriptor;
mod disk;
mod fetch;
mod hashing;
mod image;
mod import;
mod layout;
pub mod limits;
mod manifest;
mod media_type;
mod owners;
mod platform;
mod reference;
mod remote;
mod remove;
mod root;
#[cfg(test)]
mod testing;
mod unpack;

pub use build::{BuildError, Recipe, Source, build};
pub use cache::{Cache, CacheError, Guard, Staging};
pub use command::{Command, CommandError, DEFAULT_PATH, Identity, Overrides};
pub use config::{ConfigError, Execution, ImageConfig, RootFileSystem, RootKind};
pub use descriptor::{Descriptor, REF_NAME};
pub use disk::DiskError;
pub use fetch::{FetchError, fetch};
pub use image::{Image, ImageError};
pub use import::{ImportError, import};
pub use layout::{BlobWriter, Layout, LayoutError};
pub use limits::Limits;
pub use manifest::{ImageIndex, ImageManifest, Manifest, ManifestError};
pub use media_type::{Compression, MediaType};
pub use platform::Platform;
pub use reference::{Host, Reference, ReferenceError, Repository, Tag, Version};
pub use remote::{
    Client, Credentials, Event, NotARegistryUrl, Progress, RegistryUrl, RemoteError,
    RemoteErrorKind,
};
pub use unpack::{Exceeded, LayerError, UnpackError, Unpacked, unpack};
