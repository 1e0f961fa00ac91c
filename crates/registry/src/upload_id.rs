//! The name of an upload under way.

use std::fmt;
use std::str::FromStr;

use kiln_model::Entropy;
use uuid::{Builder, Uuid};

/// A random UUID: nobody can guess the upload of somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UploadId(Uuid);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not the name of an upload")]
pub struct NotAnUpload;

impl UploadId {
    pub fn mint(entropy: &dyn Entropy) -> Self {
        let mut random = [0; 16];
        entropy.fill(&mut random);
        Self(Builder::from_random_bytes(random).into_uuid())
    }
}

impl FromStr for UploadId {
    type Err = NotAnUpload;

    fn from_str(text: &str) -> Result<Self, NotAnUpload> {
        let id = Uuid::parse_str(text).map(Self).map_err(|_| NotAnUpload)?;
        // Only the one form that is stored and compared.
        if id.to_string() == text {
            Ok(id)
        } else {
            Err(NotAnUpload)
        }
    }
}

impl fmt::Display for UploadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
