//! Talking to a registry: the OCI distribution protocol over HTTP.

mod activity;
mod authorization;
mod challenge;
mod client;
mod error;
mod file_stream;
mod manage;
mod progress;
mod pull;
mod push;
mod registry_url;

pub use authorization::Credentials;
pub use client::Client;
pub use error::{RemoteError, RemoteErrorKind};
pub use progress::{Event, Progress};
pub use registry_url::{NotARegistryUrl, RegistryUrl};

/// Blobs of one image on the wire at the same time.
const PARALLEL_BLOBS: usize = 4;

#[cfg(test)]
mod tests;
