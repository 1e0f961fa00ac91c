//! The spool as the agent uses it: off its own thread, with every failure told and none fatal.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiln_model::JobUuid;

use super::{AgentError, Event};
use crate::Delivery;
use crate::spool::Spool;

#[derive(Debug)]
pub(super) struct Disk {
    spool: Arc<Spool>,
}

impl Disk {
    pub(super) fn open(data_dir: &Path) -> Result<Self, AgentError> {
        let spool = Arc::new(Spool::open(data_dir)?);
        Ok(Self { spool })
    }

    /// Where the output lies that goes beside the message about a job.
    pub(super) fn large_path(&self, job: JobUuid) -> PathBuf {
        self.spool.large_path(job)
    }

    pub(super) fn recover(&self) -> Result<Vec<Delivery>, AgentError> {
        self.spool.recover()
    }

    pub(super) async fn hold(&self, job: JobUuid) {
        if let Err(error) = self.with(move |spool| spool.hold(job)).await {
            tracing::error!(
                job.id = %job,
                error = &error as &dyn std::error::Error,
                "cannot note on disk that job {job} is held; if the runner is killed now, only the lease will miss it"
            );
        }
    }

    pub(super) async fn write(&self, delivery: Delivery) -> Event {
        let job = delivery.job();
        match self.with(move |spool| spool.write(&delivery)).await {
            Ok(()) => Event::Spooled,
            Err(error) => {
                tracing::error!(
                    job.id = %job,
                    error = &error as &dyn std::error::Error,
                    "cannot spool the result of job {job}, trying again: is the disk of the data directory full?"
                );
                Event::NotSpooled
            }
        }
    }

    pub(super) async fn forget(&self, job: JobUuid) {
        tracing::info!(job.id = %job, "the result of job {job} is delivered");
        if let Err(error) = self.with(move |spool| spool.forget(job)).await {
            tracing::warn!(
                job.id = %job,
                error = &error as &dyn std::error::Error,
                "cannot remove the delivered result of job {job}; it is sent again at the next start, which does no harm"
            );
        }
    }

    /// Writes wait for the disk, on a thread that may.
    async fn with(
        &self,
        act: impl FnOnce(&Spool) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let spool = Arc::clone(&self.spool);
        match tokio::task::spawn_blocking(move || act(&spool)).await {
            Ok(result) => result,
            Err(panic) => Err(io::Error::other(panic)),
        }
    }
}
