//! What a project measures: benchmarks, measures, thresholds, alerts.

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};

use super::{Branch, DateTime, Patched, StartPoint, Testbed, object};
use crate::{
    AlertUuid, BenchmarkUuid, BranchName, MeasureUuid, MetricUuid, ModelUuid, ProjectUuid,
    ReportUuid, ResourceName, Slug, ThresholdUuid,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Benchmark {
    pub uuid: BenchmarkUuid,
    pub project: ProjectUuid,
    pub name: String,
    pub slug: Slug,
    pub created: DateTime,
    pub modified: DateTime,
    pub archived: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    pub uuid: MeasureUuid,
    pub project: ProjectUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub units: String,
    /// Ours: `smaller_is_better` or `larger_is_better`, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    pub created: DateTime,
    pub modified: DateTime,
    pub archived: Option<DateTime>,
}

/// A new branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewBranch {
    pub name: BranchName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::optional"
    )]
    pub start_point: Option<StartPoint>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewTestbed {
    pub name: ResourceName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// A UUID or a slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewBenchmark {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewMeasure {
    pub name: ResourceName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    pub units: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
}

/// What is to change of a branch, testbed, benchmark or measure. Fields of other resources are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DimensionPatch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Testbeds: a spec, or null for none.
    #[serde(default, skip_serializing_if = "Patched::is_keep")]
    pub spec: Patched<String>,
    /// Branches.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::optional"
    )]
    pub start_point: Option<StartPoint>,
}

/// The parameters of a test. Those that stock clients do not know are ours and optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewModel {
    pub test: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_sample_size: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sample_size: Option<u32>,
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_boundary: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_boundary: Option<f64>,
    /// Ours: the least effect that is worth an alert, as a share of the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_effect: Option<f64>,
    /// Ours: the accepted share of false alerts in a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_discovery_rate: Option<f64>,
    /// Ours: patterns of benchmarks that get no alert.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewThreshold {
    /// UUIDs, slugs or names.
    pub branch: String,
    pub testbed: String,
    pub measure: String,
    /// Ours: only for this benchmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<String>,
    #[serde(flatten)]
    pub model: NewModel,
}

/// A model for `PUT`; a null test removes the one there is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "RawThresholdUpdate")]
pub struct ThresholdUpdate {
    pub model: Option<NewModel>,
}

impl Serialize for ThresholdUpdate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(model) = &self.model {
            return model.serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("test", &None::<String>)?;
        map.end()
    }
}

#[derive(Deserialize)]
struct RawThresholdUpdate {
    test: Option<String>,
    min_sample_size: Option<u32>,
    max_sample_size: Option<u32>,
    window: Option<u32>,
    lower_boundary: Option<f64>,
    upper_boundary: Option<f64>,
    min_effect: Option<f64>,
    false_discovery_rate: Option<f64>,
    #[serde(default)]
    ignore: Vec<String>,
}

impl From<RawThresholdUpdate> for ThresholdUpdate {
    fn from(raw: RawThresholdUpdate) -> Self {
        Self {
            model: raw.test.map(|test| NewModel {
                test,
                min_sample_size: raw.min_sample_size,
                max_sample_size: raw.max_sample_size,
                window: raw.window,
                lower_boundary: raw.lower_boundary,
                upper_boundary: raw.upper_boundary,
                min_effect: raw.min_effect,
                false_discovery_rate: raw.false_discovery_rate,
                ignore: raw.ignore,
            }),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub uuid: ModelUuid,
    pub threshold: ThresholdUuid,
    pub test: String,
    pub min_sample_size: Option<u32>,
    pub max_sample_size: Option<u32>,
    pub window: Option<u32>,
    pub lower_boundary: Option<f64>,
    pub upper_boundary: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_effect: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_discovery_rate: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    pub created: DateTime,
    pub replaced: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    pub uuid: ThresholdUuid,
    pub project: ProjectUuid,
    pub branch: Branch,
    pub testbed: Testbed,
    pub measure: Measure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<Benchmark>,
    pub model: Option<Model>,
    pub created: DateTime,
    pub modified: DateTime,
}

/// A threshold beside a metric that it judged, with the model it had then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThresholdSummary {
    pub uuid: ThresholdUuid,
    pub project: ProjectUuid,
    pub model: Option<Model>,
    pub created: DateTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boundary {
    pub baseline: Option<f64>,
    pub lower_limit: Option<f64>,
    pub upper_limit: Option<f64>,
}

/// A stored metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredMetric {
    pub uuid: MetricUuid,
    pub value: f64,
    pub lower_value: Option<f64>,
    pub upper_value: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    pub uuid: AlertUuid,
    pub report: ReportUuid,
    pub iteration: u32,
    pub benchmark: Benchmark,
    pub metric: StoredMetric,
    pub threshold: Threshold,
    pub boundary: Boundary,
    /// `lower` or `upper`.
    pub limit: String,
    /// `active`, `dismissed` or `silenced`.
    pub status: String,
    pub created: DateTime,
    pub modified: DateTime,
}

/// An alert beside its metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertSummary {
    pub uuid: AlertUuid,
    pub limit: String,
    pub status: String,
    pub modified: DateTime,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertPatch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_of_a_threshold_is_read_as_it_was_written() {
        let model = NewModel {
            test: "t_test".to_owned(),
            upper_boundary: Some(0.99),
            window: Some(3_600),
            ignore: vec!["slow*".to_owned()],
            ..NewModel::default()
        };
        for model in [Some(model), None] {
            let update = ThresholdUpdate { model };
            let written = serde_json::to_string(&update).unwrap();
            let read: ThresholdUpdate = serde_json::from_str(&written).unwrap();
            assert_eq!(read, update, "{written}");
        }
    }

    #[test]
    fn a_model_is_removed_by_a_test_that_is_null() {
        let removed = serde_json::to_value(ThresholdUpdate { model: None }).unwrap();
        assert_eq!(removed, serde_json::json!({"test": null}));
    }
}
