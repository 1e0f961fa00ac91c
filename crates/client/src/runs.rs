//! Submitting runs.

use kiln_model::v0::{NewRun, Report};

use crate::{Client, Error};

impl Client {
    /// Submits a run. To be able to submit it again after an unclear end, give it an idempotency key.
    pub async fn submit_run(&self, run: &NewRun) -> Result<Report, Error> {
        self.post(&["v0", "run"], run).await
    }
}
