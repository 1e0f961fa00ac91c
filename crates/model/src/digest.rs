//! Content digests as OCI writes them: `sha256:` or `sha512:` and lower-case hex.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    Sha256,
    Sha512,
}

impl Algorithm {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    const fn hex_len(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }
}

/// A well-formed digest; whether any bytes hash to it is another question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest {
    algorithm: Algorithm,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a digest: expected `sha256:` and 64, or `sha512:` and 128, lower-case hex digits"
)]
pub struct NotADigest(String);

impl Digest {
    /// A digest from raw hash bytes: 32 of them are SHA-256, 64 are SHA-512.
    pub fn from_hash(hash: &[u8]) -> Option<Self> {
        let algorithm = match hash.len() {
            32 => Algorithm::Sha256,
            64 => Algorithm::Sha512,
            _ => return None,
        };
        let mut text = String::with_capacity(7 + hash.len() * 2);
        text.push_str(algorithm.name());
        text.push(':');
        for byte in hash {
            text.push(char::from(HEX[usize::from(byte >> 4)]));
            text.push(char::from(HEX[usize::from(byte & 15)]));
        }
        Some(Self { algorithm, text })
    }

    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The hex digits alone.
    pub fn hex(&self) -> &str {
        &self.text[7..]
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let refuse = || NotADigest(text.chars().take(160).collect());
        let (name, hex) = text.split_once(':').ok_or_else(refuse)?;
        let algorithm = match name {
            "sha256" => Algorithm::Sha256,
            "sha512" => Algorithm::Sha512,
            _ => return Err(refuse()),
        };
        let lower_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if hex.len() != algorithm.hex_len() || !hex.bytes().all(lower_hex) {
            return Err(refuse());
        }
        Ok(Self {
            algorithm,
            text: text.to_owned(),
        })
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;
    fn try_from(text: String) -> Result<Self, NotADigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.text
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_algorithms_round_trip() {
        for len in [32, 64] {
            let digest = Digest::from_hash(&vec![0xab; len]).unwrap();
            assert_eq!(digest.as_str().parse::<Digest>().unwrap(), digest);
            assert_eq!(digest.hex().len(), len * 2);
        }
    }

    #[test]
    fn tricks_are_refused() {
        let good = "a".repeat(64);
        for bad in [
            String::new(),
            good.clone(),
            format!("sha256:{}", "a".repeat(63)),
            format!("sha256:{}", "A".repeat(64)),
            format!("sha256:../{}", "a".repeat(61)),
            format!("sha1:{good}"),
            format!("sha512:{good}"),
        ] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
