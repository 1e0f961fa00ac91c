//! The names of objects: safe as paths, safe as S3 keys.

use std::fmt;

use kiln_model::Digest;

use super::block::CHECKSUM_SUFFIX;

/// Where objects lie while they are written.
pub(super) const STAGING: &str = "staging";
/// S3 allows 1,024 bytes; a suffix of ours must still fit.
const LONGEST: usize = 900;
const LONGEST_SEGMENT: usize = 200;

/// A well-formed name: segments of letters, digits, `.`, `_` and `-`, none of which begins with a dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot name an object")]
pub struct NotAKey(String);

impl ObjectKey {
    pub fn parse(text: &str) -> Result<Self, NotAKey> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let good = |segment: &str| {
            !segment.is_empty()
                && !segment.starts_with('.')
                && !segment.ends_with(CHECKSUM_SUFFIX)
                && segment.len() <= LONGEST_SEGMENT
                && segment.bytes().all(allowed)
        };
        let reserved = text.split('/').next() == Some(STAGING);
        if text.len() > LONGEST || reserved || !text.split('/').all(good) {
            return Err(NotAKey(text.chars().take(160).collect()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Where a blob lies: `blobs/sha256/ab/abcdef…`.
    pub fn blob(digest: &Digest) -> Self {
        let (name, hex) = (digest.algorithm().name(), digest.hex());
        Self(format!("blobs/{name}/{}/{hex}", &hex[..2]))
    }

    /// Where a job's output lies: `{project}/output/v0/jobs/{job}`, both UUIDs.
    pub fn output(project: impl fmt::Display, job: impl fmt::Display) -> Result<Self, NotAKey> {
        Self::parse(&format!("{project}/output/v0/jobs/{job}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_lies_under_its_digest() {
        let digest = Digest::from_hash(&[0xab; 32]).unwrap();
        assert_eq!(
            ObjectKey::blob(&digest).as_str(),
            format!("blobs/sha256/ab/{}", "ab".repeat(32))
        );
    }

    #[test]
    fn every_key_of_ours_parses() {
        let digest = Digest::from_hash(&[1; 64]).unwrap();
        let blob = ObjectKey::blob(&digest);
        assert_eq!(ObjectKey::parse(blob.as_str()), Ok(blob));
        assert!(ObjectKey::output("6f1d8a8e-0000-4000-8000-000000000000", "1").is_ok());
    }

    #[test]
    fn tricks_are_refused() {
        let long = "a".repeat(1_000);
        for bad in [
            "",
            "/a",
            "a/",
            "a//b",
            "../a",
            "a/../b",
            "a/.b",
            "a b",
            "a\0b",
            "a\\b",
            "ä",
            "staging/x",
            "x.blocks",
            &long,
        ] {
            assert!(ObjectKey::parse(bad).is_err(), "{bad:?}");
        }
    }
}
