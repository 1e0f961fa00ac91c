//! What a manifest says, checked before anything of it is stored.

use std::collections::BTreeMap;

use kiln_model::Digest;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// As the specification asks registries to take, and clients not to exceed.
pub const MAX_MANIFEST_BYTES: usize = 4 * 1024 * 1024;
/// Each descriptor costs a look-up in the transaction that stores the manifest; images have a few dozen.
pub const MAX_DESCRIPTORS: usize = 4_096;
/// Tags, media types and artifact types end up in headers and listings.
const MAX_MEDIA_TYPE_BYTES: usize = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    OciManifest,
    OciIndex,
    DockerManifest,
    DockerManifestList,
}

/// A manifest that is well-formed and means one thing only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub media_type: MediaType,
    pub artifact_type: Option<String>,
    pub subject: Option<Digest>,
    /// The blobs that must be there.
    pub blobs: Vec<Digest>,
    /// The manifests that must be there.
    pub children: Vec<Digest>,
    pub annotations: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidManifest {
    #[error("it is not the JSON of a manifest: {0}")]
    Json(String),
    #[error("its schema version is {0}, and 2 is the one that is taken")]
    SchemaVersion(u64),
    #[error("the media type {0:?} is not one of an image manifest or index")]
    MediaType(String),
    #[error("the request says it is {said}, its own text says {is}")]
    OtherMediaType { said: &'static str, is: String },
    #[error(
        "a manifest has `config` and `layers`, an index has `manifests`; it must not have both"
    )]
    Ambiguous,
    #[error("it has no `{0}`")]
    Missing(&'static str),
    #[error("it names more than {MAX_DESCRIPTORS} blobs or manifests")]
    TooMany,
    #[error("its artifact type is longer than {MAX_MEDIA_TYPE_BYTES} bytes")]
    LongArtifactType,
}

impl MediaType {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OciManifest => "application/vnd.oci.image.manifest.v1+json",
            Self::OciIndex => "application/vnd.oci.image.index.v1+json",
            Self::DockerManifest => "application/vnd.docker.distribution.manifest.v2+json",
            Self::DockerManifestList => "application/vnd.docker.distribution.manifest.list.v2+json",
        }
    }

    const fn is_index(self) -> bool {
        matches!(self, Self::OciIndex | Self::DockerManifestList)
    }

    /// The Docker formats always say what they are; the OCI ones may leave it to the request.
    const fn may_be_silent(self) -> bool {
        matches!(self, Self::OciManifest | Self::OciIndex)
    }

    fn parse(text: &str) -> Result<Self, InvalidManifest> {
        [
            Self::OciManifest,
            Self::OciIndex,
            Self::DockerManifest,
            Self::DockerManifestList,
        ]
        .into_iter()
        .find(|known| known.as_str() == text)
        .ok_or_else(|| {
            InvalidManifest::MediaType(text.chars().take(MAX_MEDIA_TYPE_BYTES).collect())
        })
    }
}

impl Content {
    /// Reads a manifest that was sent with a content type, or without.
    pub fn parse(body: &[u8], content_type: Option<&str>) -> Result<Self, InvalidManifest> {
        let document: Document = serde_json::from_slice(body)
            .map_err(|error| InvalidManifest::Json(error.to_string()))?;
        if document.schema_version != 2 {
            return Err(InvalidManifest::SchemaVersion(document.schema_version));
        }
        let media_type = document.media_type(content_type)?;
        document.check_shape(media_type)?;
        document.read(media_type)
    }
}

/// The fields of manifests and indexes together; all others are carried and never looked at.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u64,
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
    subject: Option<Descriptor>,
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: Digest,
}

impl Document {
    fn media_type(&self, content_type: Option<&str>) -> Result<MediaType, InvalidManifest> {
        // Parameters such as `; charset=utf-8` change nothing.
        let said = content_type.map(|text| text.split(';').next().unwrap_or(text).trim());
        let said = said.map(MediaType::parse).transpose()?;
        match (said, self.media_type.as_deref()) {
            (Some(said), Some(is)) if said.as_str() == is => Ok(said),
            (Some(said), None) if said.may_be_silent() => Ok(said),
            (Some(said), is) => Err(InvalidManifest::OtherMediaType {
                said: said.as_str(),
                is: is
                    .unwrap_or("nothing")
                    .chars()
                    .take(MAX_MEDIA_TYPE_BYTES)
                    .collect(),
            }),
            (None, Some(is)) => MediaType::parse(is),
            (None, None) => Err(InvalidManifest::Missing("mediaType")),
        }
    }

    /// The same bytes must not be a manifest to one reader and an index to another.
    fn check_shape(&self, media_type: MediaType) -> Result<(), InvalidManifest> {
        if media_type.is_index() {
            if self.config.is_some() || self.layers.is_some() {
                return Err(InvalidManifest::Ambiguous);
            }
        } else if self.manifests.is_some() {
            return Err(InvalidManifest::Ambiguous);
        } else if self.config.is_none() {
            return Err(InvalidManifest::Missing("config"));
        }
        Ok(())
    }

    fn read(self, media_type: MediaType) -> Result<Content, InvalidManifest> {
        let layers = self.layers.unwrap_or_default();
        let children = self.manifests.unwrap_or_default();
        if layers.len() + children.len() > MAX_DESCRIPTORS {
            return Err(InvalidManifest::TooMany);
        }
        // What an artifact without a type of its own is known by.
        let config_type = self.config.as_ref().map(|config| config.media_type.clone());
        let artifact_type = self
            .artifact_type
            .filter(|text| !text.is_empty())
            .or(config_type);
        if artifact_type
            .as_ref()
            .is_some_and(|text| text.len() > MAX_MEDIA_TYPE_BYTES)
        {
            return Err(InvalidManifest::LongArtifactType);
        }
        let layers = layers
            .into_iter()
            .filter(|layer| !is_kept_elsewhere(&layer.media_type));
        Ok(Content {
            media_type,
            artifact_type,
            subject: self.subject.map(|subject| subject.digest),
            blobs: self
                .config
                .into_iter()
                .chain(layers)
                .map(|descriptor| descriptor.digest)
                .collect(),
            children: children.into_iter().map(|child| child.digest).collect(),
            annotations: self.annotations,
        })
    }
}

/// Layers that their owner does not let registries store.
fn is_kept_elsewhere(media_type: &str) -> bool {
    media_type.starts_with("application/vnd.oci.image.layer.nondistributable.")
        || media_type.starts_with("application/vnd.docker.image.rootfs.foreign.")
}

/// An entry of a listing of manifests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    pub media_type: String,
    pub digest: Digest,
    pub size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}
