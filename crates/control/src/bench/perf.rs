//! The lines of a plot: every metric of some benchmarks, branch by branch.

use std::collections::BTreeMap;

use kiln_insight::ChangePoint;
use kiln_model::Millis;
use kiln_store::Query;
use kiln_store::sql::alert::{self, Alert};
use kiln_store::sql::benchmark::Benchmark;
use kiln_store::sql::branch::Branch;
use kiln_store::sql::dimension::{self, Dimension};
use kiln_store::sql::measure::Measure;
use kiln_store::sql::metric::{self, Metric, Stop, Track};
use kiln_store::sql::testbed::Testbed;
use kiln_store::sql::{head, series, spec};

use super::changes::ChangeMemory;
use crate::Denied;

/// The most lines that one query answers; the rest is left out, as stock servers do.
const MAX_LINES: usize = 255;
/// The most reports a line passes through: the newest ones.
const MAX_STOPS: i64 = 65_536;

/// What is asked for, by UUID. Heads and specs go with the branches and testbeds of the same place.
#[derive(Clone, Debug, Default)]
pub struct PerfQuery {
    pub branches: Vec<String>,
    pub heads: Vec<Option<String>>,
    pub testbeds: Vec<String>,
    pub specs: Vec<Option<String>>,
    pub benchmarks: Vec<String>,
    pub measures: Vec<String>,
    pub start_time: Option<Millis>,
    pub end_time: Option<Millis>,
}

#[derive(Clone, Debug)]
pub struct Line {
    pub branch: Branch,
    /// The head that was asked for, when it is not the branch's present one.
    pub head: i64,
    pub testbed: Testbed,
    pub benchmark: Benchmark,
    pub measure: Measure,
    /// Oldest first: by version, time and iteration.
    pub points: Vec<Point>,
    pub change_points: Option<Vec<ChangePoint>>,
}

#[derive(Clone, Debug)]
pub struct Point {
    pub stop: Stop,
    pub metric: Metric,
    pub alert: Option<Alert>,
}

/// One line for each combination that has metrics; with a memory of changes, they are marked.
pub fn perf_lines<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    asked: &PerfQuery,
    changes: Option<&ChangeMemory>,
) -> Result<Vec<Line>, Denied> {
    let branches: Vec<Branch> = all(query, project, &asked.branches)?;
    let testbeds: Vec<Testbed> = all(query, project, &asked.testbeds)?;
    let benchmarks: Vec<Benchmark> = all(query, project, &asked.benchmarks)?;
    let measures: Vec<Measure> = all(query, project, &asked.measures)?;
    let mut lines = Vec::new();
    let mut seen = 0;
    for (place, branch) in branches.iter().enumerate() {
        let head = match asked.heads.get(place).and_then(Option::as_deref) {
            Some(uuid) => {
                let found = head::find_of_branch(query, branch.id, uuid)?;
                found.ok_or(Denied::NotFound("head"))?.id
            }
            None => branch.head_id,
        };
        for (place, testbed) in testbeds.iter().enumerate() {
            let spec = match asked.specs.get(place).and_then(Option::as_deref) {
                Some(reference) => {
                    let found = spec::find_by_ref(query, reference)?;
                    Some(found.ok_or(Denied::NotFound("spec"))?.id)
                }
                None => None,
            };
            let track = Track {
                head,
                testbed: testbed.id,
                spec,
                from: asked.start_time,
                to: asked.end_time,
                limit: MAX_STOPS,
            };
            let stops = Stops::of(query, track)?;
            for benchmark in &benchmarks {
                for measure in &measures {
                    seen += 1;
                    if seen > MAX_LINES {
                        return Ok(lines);
                    }
                    let points = points(query, &stops, testbed, measure, benchmark)?;
                    if points.is_empty() {
                        continue;
                    }
                    let change_points = changes.map(|memory| marked(memory, (head, spec), &points));
                    lines.push(Line {
                        branch: branch.clone(),
                        head,
                        testbed: testbed.clone(),
                        benchmark: benchmark.clone(),
                        measure: measure.clone(),
                        points,
                        change_points,
                    });
                }
            }
        }
    }
    Ok(lines)
}

/// The reports that the lines of a branch and testbed pass through, loaded once for all of them.
struct Stops {
    by_report: BTreeMap<i64, (usize, Stop)>,
    oldest: i64,
}

impl Stops {
    fn of<Q: Query + ?Sized>(query: &mut Q, track: Track) -> Result<Self, Denied> {
        let stops = metric::track(query, track)?;
        let by_report: BTreeMap<i64, (usize, Stop)> = stops
            .into_iter()
            .rev()
            .enumerate()
            .map(|(place, stop)| (stop.report, (place, stop)))
            .collect();
        let oldest = by_report.keys().next().copied().unwrap_or(i64::MAX);
        Ok(Self { by_report, oldest })
    }
}

fn points<Q: Query + ?Sized>(
    query: &mut Q,
    stops: &Stops,
    testbed: &Testbed,
    measure: &Measure,
    benchmark: &Benchmark,
) -> Result<Vec<Point>, Denied> {
    if stops.by_report.is_empty() {
        return Ok(Vec::new());
    }
    let Some(series) = series::find(query, testbed.id, measure.id, benchmark.id)? else {
        return Ok(Vec::new());
    };
    let mut alerts: BTreeMap<(i64, i64), Alert> = alert::of_series(query, series)?
        .into_iter()
        .map(|alert| ((alert.report, alert.iteration), alert))
        .collect();
    let mut placed: Vec<(usize, Point)> = metric::of_series(query, series, stops.oldest)?
        .into_iter()
        .filter_map(|metric| {
            let (place, stop) = stops.by_report.get(&metric.report)?;
            let alert = alerts.remove(&(metric.report, metric.iteration));
            let stop = stop.clone();
            Some((
                *place,
                Point {
                    stop,
                    metric,
                    alert,
                },
            ))
        })
        .collect();
    placed.sort_by_key(|(place, point)| (*place, point.metric.iteration));
    Ok(placed.into_iter().map(|(_, point)| point).collect())
}

fn marked(
    memory: &ChangeMemory,
    (head, spec): (i64, Option<i64>),
    points: &[Point],
) -> Vec<ChangePoint> {
    let Some(first) = points.first() else {
        return Vec::new();
    };
    let key = (first.metric.series, head, spec, first.metric.report);
    let values: Vec<f64> = points.iter().map(|point| point.metric.value).collect();
    memory.changes(key, &values)
}

fn all<D: Dimension, Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    references: &[String],
) -> Result<Vec<D>, Denied> {
    references
        .iter()
        .map(|reference| {
            dimension::find_by_ref(query, project, reference)?.ok_or(Denied::NotFound(D::KIND))
        })
        .collect()
}
