//! Where more is to be seen.

use kiln_model::v0::{Report, ReportMeasure, ReportResult};

/// Addresses on the server that has a report.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    server: String,
    /// Whether plots can be seen by whoever reads the page.
    plots: bool,
}

impl Links {
    pub(crate) fn new(server: &str, plots: bool) -> Self {
        Self {
            server: server.trim_end_matches('/').to_owned(),
            plots,
        }
    }

    pub(crate) fn report(&self, report: &Report) -> String {
        let (server, project) = (&self.server, &report.project.slug);
        format!("{server}/v0/projects/{project}/reports/{}", report.uuid)
    }

    /// The history of one benchmark, as a picture.
    pub(crate) fn plot(
        &self,
        report: &Report,
        result: &ReportResult,
        measure: &ReportMeasure,
    ) -> Option<String> {
        self.plots.then(|| {
            format!(
                "{}/v0/projects/{}/perf/img?branches={}&testbeds={}&benchmarks={}&measures={}",
                self.server,
                report.project.slug,
                report.branch.uuid,
                report.testbed.uuid,
                result.benchmark.uuid,
                measure.measure.uuid
            )
        })
    }
}
