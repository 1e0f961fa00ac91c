//! A store in memory: for tests, for the simulator, and as the measure of what the kernel itself costs.

mod key;
mod tx;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use tx::MemoryTx;
use tx::{Access, Tables};

use crate::{Kv, Status};

/// Ordered maps behind one lock. Clones share the same data.
#[derive(Clone, Default)]
pub struct MemoryKv {
    shared: Arc<Mutex<MemoryTx>>,
}

/// Everything a [`MemoryKv`] held at one moment.
#[derive(Clone)]
pub struct Checkpoint(Tables);

impl MemoryKv {
    pub fn new() -> Self {
        Self::default()
    }

    /// A copy of all that is committed.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.lock().tables().clone())
    }

    /// Goes back to a checkpoint, as after a crash that lost everything since.
    pub fn restore(&self, checkpoint: &Checkpoint) {
        self.lock().replace_tables(checkpoint.0.clone());
    }

    /// A store of its own that starts with what the checkpoint holds.
    pub fn from_checkpoint(checkpoint: &Checkpoint) -> Self {
        let kv = Self::new();
        kv.restore(checkpoint);
        kv
    }

    fn lock(&self) -> MutexGuard<'_, MemoryTx> {
        // A panic inside a transaction undoes it on the way out, so the data behind a poisoned lock is whole.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run<R>(
        &self,
        access: Access,
        body: &mut dyn FnMut(&mut MemoryTx) -> Result<R, Status>,
    ) -> Result<R, Status> {
        let mut guard = self.lock();
        let mut open = Open {
            tx: &mut guard,
            kept: false,
        };
        open.tx.start(access);
        let answer = body(open.tx)?;
        open.tx.check_closed()?;
        open.kept = true;
        Ok(answer)
    }
}

impl Kv for MemoryKv {
    type Tx = MemoryTx;

    fn write<R, F>(&self, mut body: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnMut(&mut MemoryTx) -> Result<R, Status> + Send + 'static,
    {
        self.run(Access::Write, &mut body)
    }

    fn read<R, F>(&self, mut body: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnMut(&mut MemoryTx) -> Result<R, Status> + Send + 'static,
    {
        self.run(Access::Read, &mut body)
    }
}

impl fmt::Debug for MemoryKv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryKv").finish_non_exhaustive()
    }
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint").finish_non_exhaustive()
    }
}

/// A transaction under way; dropped without being kept, by an error or a panic, it undoes what was done.
struct Open<'a> {
    tx: &'a mut MemoryTx,
    kept: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.tx.finish(self.kept);
    }
}

#[cfg(test)]
mod tests;
