//! A gate that workers share so that only one of them is at the store at any time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Debug, Default)]
pub struct Gate {
    lock: Arc<Mutex<()>>,
}

impl Gate {
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits for the gate and holds it until the answer is dropped.
    pub fn enter(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
