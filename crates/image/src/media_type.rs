//! Media types: what a descriptor says its bytes are.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a layer's archive is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

/// The media types Kiln acts on; all others are carried as text and never acted on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum MediaType {
    OciManifest,
    OciIndex,
    OciConfig,
    OciLayer(Compression),
    DockerManifest,
    DockerManifestList,
    DockerConfig,
    DockerLayer(Compression),
    Other(String),
}

const KNOWN: [(MediaType, &str); 12] = [
    (
        MediaType::OciManifest,
        "application/vnd.oci.image.manifest.v1+json",
    ),
    (
        MediaType::OciIndex,
        "application/vnd.oci.image.index.v1+json",
    ),
    (
        MediaType::OciConfig,
        "application/vnd.oci.image.config.v1+json",
    ),
    (
        MediaType::OciLayer(Compression::None),
        "application/vnd.oci.image.layer.v1.tar",
    ),
    (
        MediaType::OciLayer(Compression::Gzip),
        "application/vnd.oci.image.layer.v1.tar+gzip",
    ),
    (
        MediaType::OciLayer(Compression::Zstd),
        "application/vnd.oci.image.layer.v1.tar+zstd",
    ),
    (
        MediaType::DockerManifest,
        "application/vnd.docker.distribution.manifest.v2+json",
    ),
    (
        MediaType::DockerManifestList,
        "application/vnd.docker.distribution.manifest.list.v2+json",
    ),
    (
        MediaType::DockerConfig,
        "application/vnd.docker.container.image.v1+json",
    ),
    (
        MediaType::DockerLayer(Compression::None),
        "application/vnd.docker.image.rootfs.diff.tar",
    ),
    (
        MediaType::DockerLayer(Compression::Gzip),
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
    ),
    (
        MediaType::DockerLayer(Compression::Zstd),
        "application/vnd.docker.image.rootfs.diff.tar.zstd",
    ),
];

impl MediaType {
    /// The `Accept` header of a manifest request.
    pub const ACCEPT_MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, \
         application/vnd.oci.image.index.v1+json, \
         application/vnd.docker.distribution.manifest.v2+json, \
         application/vnd.docker.distribution.manifest.list.v2+json";

    pub fn as_str(&self) -> &str {
        if let Self::Other(text) = self {
            return text;
        }
        KNOWN
            .iter()
            .find_map(|(known, text)| (known == self).then_some(*text))
            .expect("every variant but Other is in the table, as a test shows")
    }

    pub const fn is_index(&self) -> bool {
        matches!(self, Self::OciIndex | Self::DockerManifestList)
    }

    pub const fn is_manifest(&self) -> bool {
        matches!(self, Self::OciManifest | Self::DockerManifest)
    }

    /// The compression of a layer; `None` when this is no layer Kiln can unpack.
    pub const fn layer_compression(&self) -> Option<Compression> {
        match self {
            Self::OciLayer(compression) | Self::DockerLayer(compression) => Some(*compression),
            Self::OciManifest
            | Self::OciIndex
            | Self::OciConfig
            | Self::DockerManifest
            | Self::DockerManifestList
            | Self::DockerConfig
            | Self::Other(_) => None,
        }
    }
}

impl FromStr for MediaType {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.to_owned().into())
    }
}

impl From<String> for MediaType {
    fn from(text: String) -> Self {
        KNOWN
            .iter()
            .find_map(|(known, name)| (*name == text).then(|| known.clone()))
            .unwrap_or(Self::Other(text))
    }
}

impl From<MediaType> for String {
    fn from(media_type: MediaType) -> Self {
        media_type.as_str().to_owned()
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_type_reads_back_from_its_text() {
        for (known, text) in KNOWN {
            assert_eq!(known.as_str(), text);
            assert_eq!(MediaType::from(text.to_owned()), known);
        }
    }

    #[test]
    fn an_unknown_type_is_carried_but_is_no_layer() {
        let other = MediaType::from("application/x-thing".to_owned());
        assert_eq!(other.as_str(), "application/x-thing");
        assert_eq!(other.layer_compression(), None);
    }
}
