//! Submitting runs, and their reports.

use kiln_model::ReportUuid;
use kiln_model::v0::{NewRun, Report};

use crate::{Client, Error};

impl Client {
    /// Submits a run. To be able to submit it again after an unclear end, give it an idempotency key.
    pub async fn submit_run(&self, run: &NewRun) -> Result<Report, Error> {
        self.post(&["v0", "run"], run).await
    }

    /// A report of a project, which is named by its UUID or slug.
    pub async fn get_report(&self, project: &str, report: ReportUuid) -> Result<Report, Error> {
        let report = report.to_string();
        self.get(&["v0", "projects", project, "reports", &report])
            .await
    }
}
