//! Manifests and indexes, read strictly: one document has one meaning.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::limits::{MAX_INDEX_ENTRIES, MAX_MANIFEST_BYTES};
use crate::{Descriptor, MediaType, Platform};

const SCHEMA_VERSION: u32 = 2;

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("manifest has {0} bytes, more than the {MAX_MANIFEST_BYTES} allowed")]
    TooLarge(u64),
    #[error("manifest is not valid JSON of its kind")]
    Json(#[from] serde_json::Error),
    #[error("manifest has schema version {0}, expected {SCHEMA_VERSION}")]
    SchemaVersion(u32),
    #[error("manifest can be read both as an image and as an index")]
    Ambiguous,
    #[error("manifest says it is {inner} but was served as {outer}")]
    MediaTypesDiffer { inner: MediaType, outer: MediaType },
    #[error("{0} is not an image manifest or index")]
    NotAManifest(MediaType),
    #[error("index lists {0} manifests, more than the {MAX_INDEX_ENTRIES} allowed")]
    TooManyManifests(usize),
}

/// An image or a list of images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manifest {
    Image(ImageManifest),
    Index(ImageIndex),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageManifest {
    pub schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<MediaType>,
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageIndex {
    pub schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<MediaType>,
    pub manifests: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}

impl Manifest {
    /// Reads a document. `served_as` is the content type it came with; it must agree with what the
    /// document says of itself, or two readers could see two different images.
    pub fn parse(bytes: &[u8], served_as: Option<&MediaType>) -> Result<Self, ManifestError> {
        let size = bytes.len() as u64;
        if size > MAX_MANIFEST_BYTES {
            return Err(ManifestError::TooLarge(size));
        }
        let shape: Shape = serde_json::from_slice(bytes)?;
        if shape.schema_version != SCHEMA_VERSION {
            return Err(ManifestError::SchemaVersion(shape.schema_version));
        }
        let is_index = match (
            &shape.manifests,
            shape.layers.is_some() || shape.config.is_some(),
        ) {
            (Some(_), true) => return Err(ManifestError::Ambiguous),
            (Some(_), false) => true,
            (None, _) => false,
        };
        if let (Some(inner), Some(outer)) = (&shape.media_type, served_as)
            && inner != outer
        {
            return Err(ManifestError::MediaTypesDiffer {
                inner: inner.clone(),
                outer: outer.clone(),
            });
        }
        if let Some(named) = shape.media_type.as_ref().or(served_as) {
            let fits = if is_index {
                named.is_index()
            } else {
                named.is_manifest()
            };
            if !fits {
                return Err(ManifestError::NotAManifest(named.clone()));
            }
        }
        if is_index {
            let index: ImageIndex = serde_json::from_slice(bytes)?;
            if index.manifests.len() > MAX_INDEX_ENTRIES {
                return Err(ManifestError::TooManyManifests(index.manifests.len()));
            }
            return Ok(Self::Index(index));
        }
        Ok(Self::Image(serde_json::from_slice(bytes)?))
    }
}

impl ImageManifest {
    pub const fn new(config: Descriptor, layers: Vec<Descriptor>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            media_type: Some(MediaType::OciManifest),
            config,
            layers,
            annotations: None,
        }
    }
}

impl ImageIndex {
    pub const fn new(manifests: Vec<Descriptor>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            media_type: Some(MediaType::OciIndex),
            manifests,
            annotations: None,
        }
    }

    /// The first manifest or index that runs on `platform`.
    pub fn choose(&self, platform: &Platform) -> Option<&Descriptor> {
        self.manifests.iter().find(|descriptor| {
            (descriptor.media_type.is_manifest() || descriptor.media_type.is_index())
                && descriptor
                    .platform
                    .as_ref()
                    .is_some_and(|offered| platform.accepts(offered))
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape {
    schema_version: u32,
    media_type: Option<MediaType>,
    manifests: Option<IgnoredAny>,
    layers: Option<IgnoredAny>,
    config: Option<IgnoredAny>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn image(extra: &str) -> String {
        format!(
            r#"{{"schemaVersion":2,"config":{{"mediaType":"{}","digest":"{EMPTY}","size":0}},"layers":[]{extra}}}"#,
            MediaType::OciConfig
        )
    }

    #[test]
    fn a_document_that_is_both_image_and_index_is_refused() {
        let both = image(r#","manifests":[]"#);
        assert!(matches!(
            Manifest::parse(both.as_bytes(), None),
            Err(ManifestError::Ambiguous)
        ));
    }

    #[test]
    fn the_content_type_must_agree_with_the_document() {
        let text = image(&format!(r#","mediaType":"{}""#, MediaType::OciManifest));
        assert!(matches!(
            Manifest::parse(text.as_bytes(), Some(&MediaType::DockerManifest)),
            Err(ManifestError::MediaTypesDiffer { .. })
        ));
    }

    #[test]
    fn an_image_served_as_an_index_is_refused() {
        assert!(matches!(
            Manifest::parse(image("").as_bytes(), Some(&MediaType::OciIndex)),
            Err(ManifestError::NotAManifest(MediaType::OciIndex))
        ));
    }

    #[test]
    fn an_image_without_media_type_is_an_image() {
        assert!(matches!(
            Manifest::parse(image("").as_bytes(), None),
            Ok(Manifest::Image(_))
        ));
    }

    #[test]
    fn a_size_below_zero_is_refused() {
        let text = image("").replace("\"size\":0", "\"size\":-1");
        assert!(matches!(
            Manifest::parse(text.as_bytes(), None),
            Err(ManifestError::Json(_))
        ));
    }
}
