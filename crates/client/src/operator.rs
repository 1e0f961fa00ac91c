//! A server's insides, for its operators.

use kiln_model::operator::{DeadLetter, KernelStats, NewKey, Replayed};
use reqwest::Method;

use crate::{Client, Error};

impl Client {
    pub async fn kernel_stats(&self) -> Result<KernelStats, Error> {
        self.get(&["v0", "server", "kernel"]).await
    }

    pub async fn dead_letters(&self) -> Result<Vec<DeadLetter>, Error> {
        self.get(&["v0", "server", "kernel", "dead-letters"]).await
    }

    pub async fn dead_letter(&self, worker: u64, seq: u64) -> Result<DeadLetter, Error> {
        let (worker, seq) = (worker.to_string(), seq.to_string());
        self.get(&["v0", "server", "kernel", "dead-letters", &worker, &seq])
            .await
    }

    pub async fn replay_dead_letter(&self, worker: u64, seq: u64) -> Result<Replayed, Error> {
        let (worker, seq) = (worker.to_string(), seq.to_string());
        let path = [
            "v0",
            "server",
            "kernel",
            "dead-letters",
            &worker,
            &seq,
            "replay",
        ];
        self.post_nothing(&path).await
    }

    /// Removes up to `max` dead letters and answers them.
    pub async fn drain_dead_letters(&self, max: u32) -> Result<Vec<DeadLetter>, Error> {
        let request = self
            .request(Method::DELETE, &["v0", "server", "kernel", "dead-letters"])?
            .query(&[("max", max)]);
        self.read(self.send(request).await?).await
    }

    /// Another key for the administrator.
    pub async fn create_admin_key(&self) -> Result<NewKey, Error> {
        self.post_nothing(&["v0", "server", "keys"]).await
    }
}
