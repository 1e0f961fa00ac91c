//! Perf queries, comparisons and plots.

use serde::{Deserialize, Serialize};

use super::{
    AlertSummary, Benchmark, Boundary, Branch, DateTime, Measure, Patched, Project, StoredMetric,
    Testbed, ThresholdSummary, Version,
};
use crate::{
    BenchmarkUuid, BranchUuid, MeasureUuid, PlotUuid, ProjectUuid, ReportUuid, TestbedUuid,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Perf {
    pub project: Project,
    pub start_time: Option<DateTime>,
    pub end_time: Option<DateTime>,
    pub results: Vec<PerfLine>,
}

/// One line of a plot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PerfLine {
    pub branch: Branch,
    pub testbed: Testbed,
    pub benchmark: Benchmark,
    pub measure: Measure,
    pub metrics: Vec<PerfMetric>,
    /// Ours, when asked for: where the line changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_points: Option<Vec<ChangePoint>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PerfMetric {
    pub report: ReportUuid,
    pub iteration: u32,
    pub start_time: DateTime,
    pub end_time: DateTime,
    pub version: Version,
    pub threshold: Option<ThresholdSummary>,
    pub metric: StoredMetric,
    pub boundary: Option<Boundary>,
    pub alert: Option<AlertSummary>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// The first metric after the change, by its place in `metrics`.
    pub index: usize,
    /// The medians on both sides.
    pub before: f64,
    pub after: f64,
    pub probability: f64,
}

/// One metric with everything about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneMetric {
    pub uuid: crate::MetricUuid,
    pub report: ReportUuid,
    pub iteration: u32,
    pub start_time: DateTime,
    pub end_time: DateTime,
    pub branch: Branch,
    pub testbed: Testbed,
    pub benchmark: Benchmark,
    pub measure: Measure,
    pub metric: StoredMetric,
    pub threshold: Option<ThresholdSummary>,
    pub boundary: Option<Boundary>,
    pub alert: Option<AlertSummary>,
}

/// Ours: two sets of reports compared, benchmark by benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareReport {
    pub project: ProjectUuid,
    /// The reports that were compared.
    pub base: Vec<ReportUuid>,
    pub head: Vec<ReportUuid>,
    /// The least difference that matters, as a share.
    pub gate: f64,
    pub results: Vec<CompareLine>,
    /// What was measured and could not be compared.
    #[serde(default)]
    pub left_out: Vec<NotCompared>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCompared {
    pub testbed: TestbedUuid,
    pub benchmark: String,
    pub measure: String,
    /// `only_base` or `only_head` measured it, or numbers are `not_positive` and have no ratio.
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareLine {
    pub testbed: TestbedUuid,
    pub benchmark: String,
    pub measure: String,
    pub units: String,
    pub base_count: usize,
    pub head_count: usize,
    /// The geometric means, in the measure's units.
    pub base_value: f64,
    pub head_value: f64,
    /// How much the head is above the base, as a share of it.
    pub effect: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The smallest difference that this data shows four times out of five.
    pub detectable: Option<f64>,
    /// `faster`, `slower`, `same` or `cannot_tell`.
    pub verdict: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four switches of the wire format"
)]
pub struct Plot {
    pub uuid: PlotUuid,
    pub project: ProjectUuid,
    pub title: Option<String>,
    pub lower_value: bool,
    pub upper_value: bool,
    pub lower_boundary: bool,
    pub upper_boundary: bool,
    pub x_axis: String,
    pub y_axis: String,
    pub window: u32,
    pub branches: Vec<BranchUuid>,
    pub testbeds: Vec<TestbedUuid>,
    pub benchmarks: Vec<BenchmarkUuid>,
    pub measures: Vec<MeasureUuid>,
    pub created: DateTime,
    pub modified: DateTime,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four switches of the wire format"
)]
pub struct NewPlot {
    /// Where among the others it stands; at the end without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub lower_value: bool,
    pub upper_value: bool,
    pub lower_boundary: bool,
    pub upper_boundary: bool,
    pub x_axis: String,
    #[serde(default = "auto")]
    pub y_axis: String,
    pub window: u32,
    pub branches: Vec<BranchUuid>,
    pub testbeds: Vec<TestbedUuid>,
    pub benchmarks: Vec<BenchmarkUuid>,
    pub measures: Vec<MeasureUuid>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlotPatch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u8>,
    /// A title, or null for none.
    #[serde(default, skip_serializing_if = "Patched::is_keep")]
    pub title: Patched<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

fn auto() -> String {
    "auto".to_owned()
}
