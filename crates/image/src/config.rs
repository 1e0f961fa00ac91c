//! The image configuration: what to run, as whom, where, and which layers make the root.

use std::collections::BTreeMap;

use kiln_model::Digest;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Platform;
use crate::limits::MAX_CONFIG_BYTES;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("image configuration has {0} bytes, more than the {MAX_CONFIG_BYTES} allowed")]
    TooLarge(u64),
    #[error("image configuration is not valid JSON of its kind")]
    Json(#[from] serde_json::Error),
    #[error("image configuration lists {diff_ids} layers, its manifest {layers}")]
    LayersDiffer { diff_ids: usize, layers: usize },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageConfig {
    #[serde(default)]
    pub architecture: String,
    #[serde(default)]
    pub os: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub config: Execution,
    pub rootfs: RootFileSystem,
}

/// How a container of the image runs unless told otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Execution {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `KEY=value` each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmd: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootFileSystem {
    #[serde(rename = "type")]
    pub kind: RootKind,
    /// The digest of each layer's uncompressed archive, lowest first.
    #[serde(default, deserialize_with = "or_default")]
    pub diff_ids: Vec<Digest>,
}

impl Default for RootFileSystem {
    fn default() -> Self {
        Self {
            kind: RootKind::Layers,
            diff_ids: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RootKind {
    Layers,
}

impl ImageConfig {
    /// Reads a configuration for a manifest with this many layers.
    pub fn parse(bytes: &[u8], layers: usize) -> Result<Self, ConfigError> {
        let size = bytes.len() as u64;
        if size > MAX_CONFIG_BYTES {
            return Err(ConfigError::TooLarge(size));
        }
        let config: Self = serde_json::from_slice(bytes)?;
        let diff_ids = config.rootfs.diff_ids.len();
        if diff_ids != layers {
            return Err(ConfigError::LayersDiffer { diff_ids, layers });
        }
        Ok(config)
    }

    pub fn platform(&self) -> Platform {
        Platform {
            os: self.os.clone(),
            architecture: self.architecture.clone(),
            variant: self.variant.clone(),
        }
    }
}

/// Go's encoders write `null` for empty lists and maps.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_as_go_writes_them_are_empty() {
        let text = r#"{"architecture":"amd64","os":"linux","config":{"Env":null,"Entrypoint":null},
                       "rootfs":{"type":"layers","diff_ids":null}}"#;
        let config = ImageConfig::parse(text.as_bytes(), 0).unwrap();
        assert_eq!(config.config, Execution::default());
    }

    #[test]
    fn the_layer_count_must_match_the_manifest() {
        let text = r#"{"rootfs":{"type":"layers","diff_ids":[]}}"#;
        assert!(matches!(
            ImageConfig::parse(text.as_bytes(), 1),
            Err(ConfigError::LayersDiffer {
                diff_ids: 0,
                layers: 1
            })
        ));
    }

    #[test]
    fn another_kind_of_root_is_refused() {
        let text = r#"{"rootfs":{"type":"disk","diff_ids":[]}}"#;
        assert!(matches!(
            ImageConfig::parse(text.as_bytes(), 0),
            Err(ConfigError::Json(_))
        ));
    }
}
