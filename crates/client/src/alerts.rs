//! Alerts of a project.

use kiln_model::AlertUuid;
use kiln_model::v0::{Alert, AlertPatch};

use crate::reports::given;
use crate::{Client, Error, Page};

/// Alerts of a project, which is named by its UUID or slug.
impl Client {
    /// Newest first; of one status, or of all.
    pub async fn list_alerts(
        &self,
        project: &str,
        status: Option<&str>,
        page: Page,
    ) -> Result<Vec<Alert>, Error> {
        let filters = given(&[("status", status)]);
        self.list(&["v0", "projects", project, "alerts"], page, &filters)
            .await
    }

    pub async fn get_alert(&self, project: &str, alert: AlertUuid) -> Result<Alert, Error> {
        let alert = alert.to_string();
        self.get(&["v0", "projects", project, "alerts", &alert])
            .await
    }

    /// Makes it `active`, `dismissed` or `silenced`.
    pub async fn set_alert_status(
        &self,
        project: &str,
        alert: AlertUuid,
        status: &str,
    ) -> Result<Alert, Error> {
        let alert = alert.to_string();
        let patch = AlertPatch {
            status: Some(status.to_owned()),
        };
        self.patch(&["v0", "projects", project, "alerts", &alert], &patch)
            .await
    }
}
