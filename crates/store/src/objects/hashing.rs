//! Hashing the blocks of an upload on a thread of its own, one part behind what arrives.

use bytes::Bytes;
use tokio::task::{JoinError, JoinHandle};

use super::block::{BlockHasher, Blocks};

#[derive(Debug)]
pub(super) enum Hashing {
    Idle(BlockHasher),
    Busy(JoinHandle<BlockHasher>),
}

impl Hashing {
    pub(super) fn new() -> Self {
        Self::Idle(BlockHasher::default())
    }

    /// Begins to hash these bytes, once those before them are hashed.
    pub(super) async fn update(&mut self, bytes: Bytes) -> Result<(), JoinError> {
        let mut hasher = self.rest().await?;
        *self = Self::Busy(tokio::task::spawn_blocking(move || {
            hasher.update(&bytes);
            hasher
        }));
        Ok(())
    }

    pub(super) async fn finish(mut self, last: &[u8]) -> Result<Blocks, JoinError> {
        let mut hasher = self.rest().await?;
        hasher.update(last);
        Ok(hasher.finish())
    }

    async fn rest(&mut self) -> Result<BlockHasher, JoinError> {
        match self {
            Self::Idle(hasher) => Ok(std::mem::take(hasher)),
            Self::Busy(hashing) => {
                let hasher = hashing.await;
                *self = Self::new();
                hasher
            }
        }
    }
}
