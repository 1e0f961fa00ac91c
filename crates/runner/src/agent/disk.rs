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
    /// What an earlier process left is delivered from all of these: its own, and those of other slots.
    recovered: Vec<Arc<Spool>>,
}

impl Disk {
    pub(super) fn open(data_dir: &Path) -> Result<Self, AgentError> {
        let spool = Arc::new(Spool::open(data_dir)?);
        Ok(Self {
            recovered: vec![Arc::clone(&spool)],
            spool,
        })
    }

    /// A disk for each of so many slots. The first slot delivers what all of them have left, and those that there are no more: it is the
    /// only one that every server listens to.
    pub(super) fn open_all(data_dir: &Path, slots: u32) -> Result<Vec<Self>, AgentError> {
        let mut first = Self::open(data_dir)?;
        let below = data_dir.join("slots");
        let mut others = Vec::new();
        for number in 1..slots {
            let spool = Arc::new(Spool::open(&below.join(number.to_string()))?);
            first.recovered.push(Arc::clone(&spool));
            others.push(Self {
                spool,
                recovered: Vec::new(),
            });
        }
        for left in Spool::directories(&below)? {
            let number = left.file_name().and_then(|name| name.to_str());
            if number.and_then(|name| name.parse().ok()) >= Some(slots) {
                first.recovered.push(Arc::new(Spool::open(&left)?));
            }
        }
        others.insert(0, first);
        Ok(others)
    }

    /// Where the output lies that goes beside the message about a job.
    pub(super) fn large_path(&self, job: JobUuid) -> PathBuf {
        let paths = self.recovered.iter().map(|spool| spool.large_path(job));
        let mut left = paths.filter(|path| path.exists());
        left.next().unwrap_or_else(|| self.spool.large_path(job))
    }

    pub(super) fn recover(&self) -> Result<Vec<Delivery>, AgentError> {
        let mut deliveries = Vec::new();
        for spool in &self.recovered {
            deliveries.extend(spool.recover()?);
        }
        // Job ids sort by time.
        deliveries.sort_by_key(Delivery::job);
        Ok(deliveries)
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
        let others: Vec<Arc<Spool>> = self.recovered.clone();
        let forget = move |spool: &Spool| {
            let others = others.iter().map(AsRef::as_ref);
            others
                .chain([spool])
                .try_for_each(|spool| spool.forget(job))
        };
        if let Err(error) = self.with(forget).await {
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
