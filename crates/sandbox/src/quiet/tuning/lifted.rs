//! Letting everybody on the benchmark cores for a while.

use std::io;
use std::sync::{Arc, PoisonError};

use super::super::partition::ORDINARY;
use super::Tuning;

impl Tuning {
    /// Lets everybody on the benchmark cores until the last of those that asked is dropped: for a job that needs more cores
    /// than those. Nothing to do without a partition.
    pub fn lift_partition(self: &Arc<Self>) -> io::Result<Lifted> {
        let mut lifted = self.lifted.lock().unwrap_or_else(PoisonError::into_inner);
        if *lifted == 0
            && let Some(partition) = &self.partition
        {
            self.files.write(&partition.kind_file(), ORDINARY)?;
        }
        *lifted += 1;
        Ok(Lifted(Arc::clone(self)))
    }
}

/// A partition that everybody may use for now.
#[derive(Debug)]
pub struct Lifted(Arc<Tuning>);

impl Drop for Lifted {
    fn drop(&mut self) {
        let tuning = &self.0;
        let mut lifted = tuning.lifted.lock().unwrap_or_else(PoisonError::into_inner);
        *lifted -= 1;
        let Some(partition) = tuning.partition.as_ref().filter(|_| *lifted == 0) else {
            return;
        };
        match tuning.files.write(&partition.kind_file(), partition.kind()) {
            // Everything is put back already.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the benchmark cores are not set apart again"
            ),
            Ok(()) => {}
        }
    }
}
