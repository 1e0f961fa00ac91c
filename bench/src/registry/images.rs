//! What is pushed: one large blob, or many small ones.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use kiln_model::Digest;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::failure::Failure;

const LARGE_MIB: u64 = 200;
const LARGE_BYTES: usize = 200 << 20;
const SMALL_BYTES: usize = 4 << 10;
const SMALL_BLOBS: u64 = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workload {
    Large,
    Small,
}

impl Workload {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Large => "one blob of 200 MiB",
            Self::Small => "500 blobs of 4 KiB",
        }
    }

    pub(super) fn measurement(self, direction: &str) -> &'static str {
        match (self, direction) {
            (Self::Large, "push") => "registry: push one blob of 200 MiB",
            (Self::Large, _) => "registry: pull one blob of 200 MiB",
            (Self::Small, "push") => "registry: push 500 blobs of 4 KiB",
            (Self::Small, _) => "registry: pull 500 blobs of 4 KiB",
        }
    }

    pub(super) const fn unit(self) -> &'static str {
        match self {
            Self::Large => "MiB/s",
            Self::Small => "blobs/s",
        }
    }

    pub(super) const fn operations(self) -> u64 {
        match self {
            Self::Large => LARGE_MIB,
            Self::Small => SMALL_BLOBS,
        }
    }

    /// Every block of ours is checked before it is sent, which a large pull may show.
    pub(super) const fn pull_target(self) -> f64 {
        match self {
            Self::Large => 0.8,
            Self::Small => 1.0,
        }
    }

    /// Writes an OCI layout with an image of bytes that no other round has.
    pub(super) fn write(self, layout: &Path, round: u32) -> Result<(), Failure> {
        self.try_write(layout, round)
            .map_err(|source| Failure::io("write an image", source))
    }

    fn try_write(self, layout: &Path, round: u32) -> io::Result<()> {
        if layout.exists() {
            fs::remove_dir_all(layout)?;
        }
        let blobs = layout.join("blobs/sha256");
        fs::create_dir_all(&blobs)?;
        let (count, size) = match self {
            Self::Large => (1, LARGE_BYTES),
            Self::Small => (SMALL_BLOBS, SMALL_BYTES),
        };
        let seed = (u64::from(round) << 32) | (self.operations() << 16);
        let layers = (0..count)
            .map(|number| put(&blobs, LAYER, &noise(seed + 2 * number, size)))
            .collect::<io::Result<Vec<_>>>()?;
        let ids: Vec<_> = layers.iter().map(|layer| layer["digest"].clone()).collect();
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": ids},
        });
        let config = put(&blobs, CONFIG, config.to_string().as_bytes())?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config,
            "layers": layers,
        });
        let mut manifest = put(&blobs, MANIFEST, manifest.to_string().as_bytes())?;
        manifest["annotations"] = json!({"org.opencontainers.image.ref.name": "image"});
        let index = json!({"schemaVersion": 2, "manifests": [manifest]});
        fs::write(layout.join("index.json"), index.to_string())?;
        fs::write(
            layout.join("oci-layout"),
            r#"{"imageLayoutVersion":"1.0.0"}"#,
        )
    }
}

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

fn put(blobs: &Path, kind: &str, bytes: &[u8]) -> io::Result<Value> {
    let digest = Digest::from_hash(&Sha256::digest(bytes)).expect("SHA-256 has 32 bytes");
    File::create(blobs.join(digest.hex()))?.write_all(bytes)?;
    Ok(json!({"mediaType": kind, "digest": digest, "size": bytes.len()}))
}

/// Bytes that do not compress, the same for the same seed (xorshift).
pub(crate) fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_bytes_of_its_own() {
        let place = tempfile::tempdir().unwrap();
        let written = |round| {
            Workload::Small.write(place.path(), round).unwrap();
            let blobs = fs::read_dir(place.path().join("blobs/sha256")).unwrap();
            let names: std::collections::BTreeSet<_> =
                blobs.map(|entry| entry.unwrap().file_name()).collect();
            names
        };
        let (first, second) = (written(1), written(2));
        assert_eq!(first.len(), 502);
        assert!(first.is_disjoint(&second));
    }
}
