//! Why values did not become a frame in the caller's buffer.

use crate::WireError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error(transparent)]
    Wire(WireError),
    /// The size probe: an empty buffer answers how large it must be.
    #[error("E2BIG: the frame needs {needed} bytes")]
    TooBig { needed: usize },
}

impl From<EncodeError> for WireError {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::Wire(wire) => wire,
            EncodeError::TooBig { .. } => Self::TooBig,
        }
    }
}

impl From<WireError> for EncodeError {
    fn from(wire: WireError) -> Self {
        Self::Wire(wire)
    }
}
