//! The registry, as operators see it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryStats {
    pub repositories: u64,
    pub manifests: u64,
    pub tags: u64,
    /// Blobs, each counted once.
    pub blobs: u64,
    /// What they take on the disk.
    pub blob_bytes: u64,
    /// What they would take if every project had its own copy.
    pub held_bytes: u64,
    /// Blobs that some project holds and no manifest of it names.
    pub spare_blobs: u64,
    pub uploads: u64,
    pub upload_bytes: u64,
}

/// What to collect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectRequest {
    /// Seconds for which what was touched is kept; a day if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than: Option<u64>,
    /// Manifests without a tag, too.
    #[serde(default)]
    pub untagged: bool,
    /// Where the page before said to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// What one page of a collection let go of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    pub uploads: u64,
    pub manifests: u64,
    /// Rights of projects to blobs.
    pub holdings: u64,
    pub objects: u64,
    pub bytes: u64,
    /// Where to go on; none when everything was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Where to begin reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// What one page of a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    pub manifests: u64,
    pub blobs: u64,
    pub bytes: u64,
    pub damaged: Vec<Damaged>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Something whose bytes are gone, or are others than they were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    pub digest: String,
    pub what: String,
}

/// How much of the registry a project uses, and may.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    #[serde(default)]
    pub bytes: u64,
    /// None: no limit. It must be said: who forgets it does not mean to take the limit away.
    #[serde(deserialize_with = "Option::deserialize")]
    pub quota: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_taken_away_only_in_so_many_words() {
        assert!(serde_json::from_str::<Quota>(r#"{"bytes": 0}"#).is_err());
        let unlimited: Quota = serde_json::from_str(r#"{"quota": null}"#).unwrap();
        assert_eq!(unlimited.quota, None);
    }
}
