//! Two sets of reports, compared benchmark by benchmark.

use std::collections::BTreeMap;

use kiln_insight::{CompareSettings, Comparison, compare};
use kiln_model::{BranchUuid, ReportUuid};
use kiln_store::Query;
use kiln_store::sql::benchmark::Benchmark;
use kiln_store::sql::branch::Branch;
use kiln_store::sql::measure::Measure;
use kiln_store::sql::report::{self, Report};
use kiln_store::sql::testbed::Testbed;
use kiln_store::sql::{dimension, metric};

use crate::Denied;

#[derive(Clone, Debug)]
pub struct Compared {
    pub base: Vec<ReportUuid>,
    pub head: Vec<ReportUuid>,
    pub lines: Vec<ComparedLine>,
}

#[derive(Clone, Debug)]
pub struct ComparedLine {
    pub testbed: Testbed,
    pub benchmark: Benchmark,
    pub measure: Measure,
    pub base_count: usize,
    pub head_count: usize,
    pub comparison: Comparison,
}

/// Compares what both sides have measured on the same testbed. A side is a report's UUID, a commit, or a branch: then its
/// newest version.
pub fn compare_reports<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    (base, head): (&str, &str),
    settings: CompareSettings,
) -> Result<Compared, Denied> {
    let base = reports(query, project, base)?;
    let head = reports(query, project, head)?;
    let base_values = values(query, &base)?;
    let mut head_values = values(query, &head)?;
    let mut lines = Vec::new();
    for ((testbed, benchmark, measure), base) in base_values {
        let Some(head) = head_values.remove(&(testbed, benchmark, measure)) else {
            continue;
        };
        let measure: Measure =
            dimension::find(query, measure)?.ok_or(Denied::NotFound("measure"))?;
        let direction = measure
            .direction
            .as_deref()
            .and_then(|name| name.parse().ok());
        let settings = CompareSettings {
            direction: direction.unwrap_or(settings.direction),
            ..settings
        };
        // Numbers that are not positive have no ratio.
        let Some(comparison) = compare(&base, &head, settings) else {
            continue;
        };
        lines.push(ComparedLine {
            testbed: dimension::find(query, testbed)?.ok_or(Denied::NotFound("testbed"))?,
            benchmark: dimension::find(query, benchmark)?.ok_or(Denied::NotFound("benchmark"))?,
            measure,
            base_count: base.len(),
            head_count: head.len(),
            comparison,
        });
    }
    lines.sort_by(|a, b| {
        (&a.benchmark.name, a.measure.slug.as_str())
            .cmp(&(&b.benchmark.name, b.measure.slug.as_str()))
    });
    let uuids = |reports: &[Report]| reports.iter().map(|report| report.uuid).collect();
    Ok(Compared {
        base: uuids(&base),
        head: uuids(&head),
        lines,
    })
}

fn reports<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    side: &str,
) -> Result<Vec<Report>, Denied> {
    let found = if let Some(found) = report::find_in_project(query, project, side)? {
        vec![found]
    } else if let Some(branch) = dimension::find_by_ref::<Branch, _>(query, project, side)? {
        report::of_newest_version(query, branch.head_id)?
    } else if side.parse::<BranchUuid>().is_err() {
        report::of_hash(query, project, side)?
    } else {
        Vec::new()
    };
    if found.is_empty() {
        return Err(Denied::NotFound("report, branch or commit with results"));
    }
    Ok(found)
}

/// By testbed, benchmark and measure.
type Values = BTreeMap<(i64, i64, i64), Vec<f64>>;

fn values<Q: Query + ?Sized>(query: &mut Q, reports: &[Report]) -> Result<Values, Denied> {
    let mut values = Values::new();
    for report in reports {
        for placed in metric::of_report(query, report.id)? {
            let key = (report.testbed, placed.benchmark, placed.measure);
            values.entry(key).or_default().push(placed.metric.value);
        }
    }
    Ok(values)
}
