//! Comparing two reports, commits or branches without any threshold.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use kiln_control::bench::{ComparedLine, Uncompared, compare_reports};
use kiln_control::{Denied, access};
use kiln_insight::CompareSettings;
use kiln_model::v0::{CompareLine, CompareReport, NotCompared, Permission};
use kiln_store::Query;
use serde::Deserialize;

use crate::app::Shared;
use crate::error::{ApiError, ApiResult};
use crate::identity::Caller;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct UrlCompare {
    base: String,
    head: String,
    /// The least difference that matters, as a share.
    gate: Option<f64>,
    confidence: Option<f64>,
}

pub(super) async fn get_comparison(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    UrlQuery(url): UrlQuery<UrlCompare>,
) -> ApiResult<Json<CompareReport>> {
    let defaults = CompareSettings::default();
    let settings = CompareSettings {
        gate: url.gate.unwrap_or(defaults.gate),
        confidence: url.confidence.unwrap_or(defaults.confidence),
        ..defaults
    };
    if !(0.0..=10.0).contains(&settings.gate) {
        return Err(ApiError::bad_request("`gate` is a share from 0 to 10"));
    }
    if !(0.5..=0.9999).contains(&settings.confidence) {
        return Err(ApiError::bad_request("`confidence` is from 0.5 to 0.9999"));
    }
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let sides = (url.base.as_str(), url.head.as_str());
        let compared = compare_reports(query, project.id, sides, settings)?;
        Ok::<_, Denied>(CompareReport {
            project: project.uuid,
            base: compared.base,
            head: compared.head,
            gate: settings.gate,
            results: compared.lines.into_iter().map(line).collect(),
            left_out: compared.left_out.into_iter().map(left_out).collect(),
        })
    };
    Ok(Json(app.store.reader.read(read).await?))
}

fn line(line: ComparedLine) -> CompareLine {
    let found = line.comparison;
    CompareLine {
        testbed: line.testbed.uuid,
        benchmark: line.benchmark.name,
        measure: line.measure.slug.as_str().to_owned(),
        units: line.measure.units,
        base_count: line.base_count,
        head_count: line.head_count,
        base_value: found.base,
        head_value: found.head,
        effect: found.effect,
        low: found.interval.map(|(low, _)| low),
        high: found.interval.map(|(_, high)| high),
        detectable: found.detectable,
        verdict: found.verdict.to_string(),
    }
}

fn left_out(left_out: Uncompared) -> NotCompared {
    NotCompared {
        testbed: left_out.testbed.uuid,
        benchmark: left_out.benchmark.name,
        measure: left_out.measure.slug.as_str().to_owned(),
        reason: left_out.reason.name().to_owned(),
    }
}
