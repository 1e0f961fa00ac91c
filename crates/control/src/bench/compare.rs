//! Two sets of reports, compared benchmark by benchmark.

use std::collections::BTreeMap;

use kiln_insight::{CompareSettings, Comparison, compare};
use kiln_model::{BranchUuid, ReportUuid};
use kiln_store::Query;
use kiln_store::sql::benchmark::{self, Benchmark};
use kiln_store::sql::branch::Branch;
use kiln_store::sql::dimension::{self, Dimension};
use kiln_store::sql::measure::Measure;
use kiln_store::sql::metric;
use kiln_store::sql::report::{self, Report};
use kiln_store::sql::testbed::Testbed;

use crate::Denied;

#[derive(Clone, Debug)]
pub struct Compared {
    pub base: Vec<ReportUuid>,
    pub head: Vec<ReportUuid>,
    /// In order of names, as are those that are left out.
    pub lines: Vec<ComparedLine>,
    pub left_out: Vec<Uncompared>,
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

/// Something that was measured and could not be compared.
#[derive(Clone, Debug)]
pub struct Uncompared {
    pub testbed: Testbed,
    pub benchmark: Benchmark,
    pub measure: Measure,
    pub reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    OnlyBase,
    OnlyHead,
    /// Numbers that are not positive have no ratio.
    NotPositive,
}

impl Reason {
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnlyBase => "only_base",
            Self::OnlyHead => "only_head",
            Self::NotPositive => "not_positive",
        }
    }
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
    let mut known = Known::default();
    let base_values = values(query, &base, &mut known)?;
    let mut head_values = values(query, &head, &mut known)?;
    let (mut lines, mut left_out) = (Vec::new(), Vec::new());
    for (key, base) in base_values {
        let (testbed, benchmark, measure) = known.of(query, key)?;
        let Some(head) = head_values.remove(&key) else {
            left_out.push(Uncompared {
                testbed,
                benchmark,
                measure,
                reason: Reason::OnlyBase,
            });
            continue;
        };
        let direction = measure.direction.as_deref();
        let direction = direction.and_then(|name| name.parse().ok());
        let settings = CompareSettings {
            direction: direction.unwrap_or(settings.direction),
            ..settings
        };
        match compare(&base, &head, settings) {
            Some(comparison) => lines.push(ComparedLine {
                testbed,
                benchmark,
                measure,
                base_count: base.len(),
                head_count: head.len(),
                comparison,
            }),
            None => left_out.push(Uncompared {
                testbed,
                benchmark,
                measure,
                reason: Reason::NotPositive,
            }),
        }
    }
    for key in head_values.into_keys() {
        let (testbed, benchmark, measure) = known.of(query, key)?;
        left_out.push(Uncompared {
            testbed,
            benchmark,
            measure,
            reason: Reason::OnlyHead,
        });
    }
    lines.sort_by(|a, b| names(&a.benchmark, &a.measure).cmp(&names(&b.benchmark, &b.measure)));
    left_out.sort_by(|a, b| names(&a.benchmark, &a.measure).cmp(&names(&b.benchmark, &b.measure)));
    let uuids = |reports: &[Report]| reports.iter().map(|report| report.uuid).collect();
    Ok(Compared {
        base: uuids(&base),
        head: uuids(&head),
        lines,
        left_out,
    })
}

fn names<'a>(benchmark: &'a Benchmark, measure: &'a Measure) -> (&'a str, &'a str) {
    (&benchmark.name, measure.slug.as_str())
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

/// Testbed, benchmark and measure.
type Key = (i64, i64, i64);

fn values<Q: Query + ?Sized>(
    query: &mut Q,
    reports: &[Report],
    known: &mut Known,
) -> Result<BTreeMap<Key, Vec<f64>>, Denied> {
    let mut values: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for report in reports {
        for benchmark in benchmark::of_report(query, report.id)? {
            known.benchmarks.insert(benchmark.id, benchmark);
        }
        for placed in metric::of_report(query, report.id)? {
            let key = (report.testbed, placed.benchmark, placed.measure);
            values.entry(key).or_default().push(placed.metric.value);
        }
    }
    Ok(values)
}

/// Rows that many values have in common, each looked up once.
#[derive(Default)]
struct Known {
    testbeds: BTreeMap<i64, Testbed>,
    benchmarks: BTreeMap<i64, Benchmark>,
    measures: BTreeMap<i64, Measure>,
}

impl Known {
    fn of<Q: Query + ?Sized>(
        &mut self,
        query: &mut Q,
        (testbed, benchmark, measure): Key,
    ) -> Result<(Testbed, Benchmark, Measure), Denied> {
        Ok((
            once(query, &mut self.testbeds, testbed)?,
            once(query, &mut self.benchmarks, benchmark)?,
            once(query, &mut self.measures, measure)?,
        ))
    }
}

fn once<D: Dimension + Clone, Q: Query + ?Sized>(
    query: &mut Q,
    known: &mut BTreeMap<i64, D>,
    id: i64,
) -> Result<D, Denied> {
    if let Some(found) = known.get(&id) {
        return Ok(found.clone());
    }
    let found: D = dimension::find(query, id)?.ok_or(Denied::NotFound(D::KIND))?;
    known.insert(id, found.clone());
    Ok(found)
}
