//! Metrics over time, as data and as pictures.

use kiln_model::v0::Perf;
use kiln_model::{BenchmarkUuid, BranchUuid, MeasureUuid, Millis, TestbedUuid};
use reqwest::Method;

use crate::{Client, Error};

/// One line for each combination of these.
#[derive(Clone, Debug, Default)]
pub struct PerfQuery {
    pub branches: Vec<BranchUuid>,
    pub testbeds: Vec<TestbedUuid>,
    pub benchmarks: Vec<BenchmarkUuid>,
    pub measures: Vec<MeasureUuid>,
    pub start_time: Option<Millis>,
    pub end_time: Option<Millis>,
}

/// How a picture is to look.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// `png` or `svg`.
    pub format: &'a str,
    /// `date_time` or `version`.
    pub x_axis: &'a str,
    /// The project's name without.
    pub title: Option<&'a str>,
}

/// Numbers of a project, which is named by its UUID or slug.
impl Client {
    /// With the points where lines changed.
    pub async fn query_perf(&self, project: &str, query: &PerfQuery) -> Result<Perf, Error> {
        let request = self
            .request(Method::GET, &["v0", "projects", project, "perf"])?
            .query(&query.parameters())
            .query(&[("change_points", "true")]);
        self.read(self.send(request).await?).await
    }

    pub async fn query_perf_as_csv(
        &self,
        project: &str,
        query: &PerfQuery,
    ) -> Result<String, Error> {
        let request = self
            .request(Method::GET, &["v0", "projects", project, "perf"])?
            .query(&query.parameters())
            .query(&[("format", "csv")]);
        let bytes = self.bytes(self.send(request).await?).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub async fn draw_perf(
        &self,
        project: &str,
        query: &PerfQuery,
        picture: Picture<'_>,
    ) -> Result<Vec<u8>, Error> {
        let title = picture.title.map(|title| ("title", title));
        let request = self
            .request(Method::GET, &["v0", "projects", project, "perf", "img"])?
            .query(&query.parameters())
            .query(&[
                ("change_points", "true"),
                ("format", picture.format),
                ("x_axis", picture.x_axis),
            ])
            .query(title.as_slice());
        self.bytes(self.send(request).await?).await
    }
}

impl PerfQuery {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = vec![
            ("branches", joined(&self.branches)),
            ("testbeds", joined(&self.testbeds)),
            ("benchmarks", joined(&self.benchmarks)),
            ("measures", joined(&self.measures)),
        ];
        let times = [("start_time", self.start_time), ("end_time", self.end_time)];
        let times = times.into_iter();
        parameters.extend(times.filter_map(|(name, time)| Some((name, time?.to_string()))));
        parameters
    }
}

fn joined<T: ToString>(ids: &[T]) -> String {
    ids.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}
