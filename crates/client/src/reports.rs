//! Reports, and what is measured in them compared.

use kiln_model::ReportUuid;
use kiln_model::v0::{CompareReport, Report};
use reqwest::Method;

use crate::{Client, Error, Page};

/// Which reports to list; each is a UUID, a slug or a name.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportFilter<'a> {
    pub branch: Option<&'a str>,
    pub testbed: Option<&'a str>,
}

/// What to compare: two reports, commits or branches.
#[derive(Clone, Copy, Debug)]
pub struct Comparing<'a> {
    pub base: &'a str,
    pub head: &'a str,
    /// The least difference that matters, as a share; the server's own without.
    pub gate: Option<f64>,
    pub confidence: Option<f64>,
}

/// Reports of a project, which is named by its UUID or slug.
impl Client {
    pub async fn get_report(&self, project: &str, report: ReportUuid) -> Result<Report, Error> {
        let report = report.to_string();
        self.get(&["v0", "projects", project, "reports", &report])
            .await
    }

    /// Newest first, without results and alerts.
    pub async fn list_reports(
        &self,
        project: &str,
        filter: ReportFilter<'_>,
        page: Page,
    ) -> Result<Vec<Report>, Error> {
        let filters = [("branch", filter.branch), ("testbed", filter.testbed)];
        self.list(
            &["v0", "projects", project, "reports"],
            page,
            &given(&filters),
        )
        .await
    }

    pub async fn compare(
        &self,
        project: &str,
        comparing: Comparing<'_>,
    ) -> Result<CompareReport, Error> {
        let shares = [
            ("gate", comparing.gate),
            ("confidence", comparing.confidence),
        ];
        let shares: Vec<(&str, f64)> = shares
            .into_iter()
            .filter_map(|(name, share)| Some((name, share?)))
            .collect();
        let request = self
            .request(Method::GET, &["v0", "projects", project, "compare"])?
            .query(&[("base", comparing.base), ("head", comparing.head)])
            .query(&shares);
        self.read(self.send(request).await?).await
    }
}

/// The filters that were given.
pub(crate) fn given<'a>(filters: &[(&'a str, Option<&'a str>)]) -> Vec<(&'a str, &'a str)> {
    let filters = filters.iter();
    filters
        .filter_map(|(name, value)| Some((*name, (*value)?)))
        .collect()
}
