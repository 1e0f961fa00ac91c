//! Images of a project's registry.

use serde::{Deserialize, Serialize};

use super::DateTime;
use crate::Digest;

/// A tag of one of a project's repositories, or a repository whose images have none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// With the project's slug in front, as it is pulled.
    pub repository: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// What the tag points at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// When the tag was last pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<DateTime>,
}
