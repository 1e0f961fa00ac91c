//! Thresholds of a project.

use kiln_model::ThresholdUuid;
use kiln_model::v0::{NewModel, NewThreshold, Threshold};
use reqwest::Method;

use crate::reports::given;
use crate::{Client, Error, Page};

/// Which thresholds to list; each is a UUID, a slug or a name.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThresholdFilter<'a> {
    pub branch: Option<&'a str>,
    pub testbed: Option<&'a str>,
    pub measure: Option<&'a str>,
}

/// Thresholds of a project, which is named by its UUID or slug.
impl Client {
    pub async fn list_thresholds(
        &self,
        project: &str,
        filter: ThresholdFilter<'_>,
        page: Page,
    ) -> Result<Vec<Threshold>, Error> {
        let filters = [
            ("branch", filter.branch),
            ("testbed", filter.testbed),
            ("measure", filter.measure),
        ];
        self.list(
            &["v0", "projects", project, "thresholds"],
            page,
            &given(&filters),
        )
        .await
    }

    pub async fn get_threshold(
        &self,
        project: &str,
        threshold: ThresholdUuid,
    ) -> Result<Threshold, Error> {
        let threshold = threshold.to_string();
        self.get(&["v0", "projects", project, "thresholds", &threshold])
            .await
    }

    pub async fn create_threshold(
        &self,
        project: &str,
        new: &NewThreshold,
    ) -> Result<Threshold, Error> {
        self.post(&["v0", "projects", project, "thresholds"], new)
            .await
    }

    /// Another model from now on; what the old one judged stays as it was.
    pub async fn replace_model(
        &self,
        project: &str,
        threshold: ThresholdUuid,
        model: &NewModel,
    ) -> Result<Threshold, Error> {
        let threshold = threshold.to_string();
        let request = self
            .request(
                Method::PUT,
                &["v0", "projects", project, "thresholds", &threshold],
            )?
            .json(model);
        self.read(self.send(request).await?).await
    }

    /// With its alerts.
    pub async fn delete_threshold(
        &self,
        project: &str,
        threshold: ThresholdUuid,
    ) -> Result<(), Error> {
        let threshold = threshold.to_string();
        self.delete(&["v0", "projects", project, "thresholds", &threshold])
            .await
    }
}
