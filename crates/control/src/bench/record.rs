//! The numbers of a report are stored and judged, in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use kiln_insight::threshold::{Direction, Judged, Limit, discoveries, judge, without_ending};
use kiln_model::{AlertUuid, BenchmarkUuid, MetricUuid};
use kiln_store::Tx;
use kiln_store::sql::alert::{self, NewAlert};
use kiln_store::sql::measure::Measure;
use kiln_store::sql::metric::{self, Metric};
use kiln_store::sql::report::{Report, ReportMetric};
use kiln_store::sql::{benchmark, series};

use super::history::History;
use super::judges::{Judge, Judges};
use super::{Ids, measures};
use crate::Denied;

/// Writes the metrics of a report with their boundaries, and the alerts that follow. The report itself is not changed, and is no
/// part of its own history as long as it is not `ready`.
pub fn record(tx: &mut dyn Tx, report: &Report, metrics: &[ReportMetric]) -> Result<(), Denied> {
    let ids = Ids::new(report.uuid);
    let mut places = Places::default();
    let judges = Judges::of(tx, report)?;
    // Read when somebody asks: most reports are judged by nobody.
    let mut history = None;
    let mut entries = Vec::with_capacity(metrics.len());
    let mut seen = BTreeSet::new();
    for metric in metrics {
        let (benchmark, wants_no_alert) = without_ending(&metric.benchmark);
        let place = places.of(tx, report, (benchmark, &metric.measure), &ids)?;
        // Two spellings of one measure are one metric: the first counts.
        if !seen.insert((place.series, metric.iteration)) {
            continue;
        }
        let verdict = match judges.of_metric(place.measure, place.benchmark) {
            Some(by) => {
                let history = match &mut history {
                    Some(history) => history,
                    unread @ None => unread.insert(History::of(tx, report)?),
                };
                let values = history.of_series(tx, place.series, by)?;
                let judged = judge(&by.model, benchmark, &values, metric.value, place.direction);
                judged.map(|judged| Verdict::new(by, judged, wants_no_alert))
            }
            None => None,
        };
        entries.push(Entry {
            metric,
            series: place.series,
            verdict,
        });
    }
    control_discoveries(&mut entries, &judges);
    for entry in &entries {
        write(tx, report, entry, &ids)?;
    }
    Ok(())
}

/// A metric with what was decided about it.
struct Entry<'a> {
    metric: &'a ReportMetric,
    series: i64,
    verdict: Option<Verdict>,
}

struct Verdict {
    threshold: i64,
    model: i64,
    judged: Judged,
}

impl Verdict {
    fn new(by: &Judge, judged: Judged, wants_no_alert: bool) -> Self {
        Self {
            threshold: by.threshold,
            model: by.model_id,
            judged: Judged {
                crossing: judged.crossing.filter(|_| !wants_no_alert),
                ..judged
            },
        }
    }
}

/// Among the metrics of a model with a false discovery rate, only discoveries keep their alert.
fn control_discoveries(entries: &mut [Entry<'_>], judges: &Judges) {
    for (model, rate) in judges.false_discovery_rates() {
        let family: Vec<(usize, f64)> = entries
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| {
                let verdict = entry.verdict.as_ref().filter(|one| one.model == model)?;
                Some((index, verdict.judged.probability?))
            })
            .collect();
        let probabilities: Vec<f64> = family.iter().map(|(_, probability)| *probability).collect();
        for ((index, _), found) in family.iter().zip(discoveries(&probabilities, rate)) {
            if let Some(verdict) = entries[*index].verdict.as_mut().filter(|_| !found) {
                verdict.judged.crossing = None;
            }
        }
    }
}

fn write(tx: &mut dyn Tx, report: &Report, entry: &Entry<'_>, ids: &Ids) -> Result<(), Denied> {
    let wall = tx.wall();
    let verdict = entry.verdict.as_ref();
    let row = Metric {
        series: entry.series,
        report: report.id,
        iteration: entry.metric.iteration,
        uuid: MetricUuid::mint(wall, ids),
        value: entry.metric.value,
        lower_value: entry.metric.lower_value,
        upper_value: entry.metric.upper_value,
        judged: verdict.map(|verdict| metric::Judged {
            threshold: verdict.threshold,
            model: verdict.model,
            baseline: verdict.judged.boundary.baseline,
            lower_limit: verdict.judged.boundary.lower_limit,
            upper_limit: verdict.judged.boundary.upper_limit,
        }),
    };
    metric::insert(tx, &row)?;
    let Some((verdict, crossing)) =
        verdict.and_then(|verdict| Some((verdict, verdict.judged.crossing?)))
    else {
        return Ok(());
    };
    alert::insert(
        tx,
        NewAlert {
            uuid: AlertUuid::mint(wall, ids),
            project: report.project,
            report: report.id,
            series: entry.series,
            iteration: entry.metric.iteration,
            threshold: verdict.threshold,
            crossed: match crossing.limit {
                Limit::Lower => "lower",
                Limit::Upper => "upper",
            },
        },
    )?;
    Ok(())
}

/// Where a metric belongs.
#[derive(Clone, Copy)]
struct Place {
    measure: i64,
    benchmark: i64,
    series: i64,
    direction: Option<Direction>,
}

/// The rows that this report's names stand for, each looked up once.
#[derive(Default)]
struct Places {
    measures: BTreeMap<String, Measure>,
    benchmarks: BTreeMap<String, i64>,
    series: BTreeMap<(i64, i64), i64>,
}

impl Places {
    fn of(
        &mut self,
        tx: &mut dyn Tx,
        report: &Report,
        (benchmark, measure): (&str, &str),
        ids: &Ids,
    ) -> Result<Place, Denied> {
        if !self.measures.contains_key(measure) {
            let made = measures::ensure(tx, report.project, measure, ids)?;
            self.measures.insert(measure.to_owned(), made);
        }
        let measure = &self.measures[measure];
        let benchmark = if let Some(id) = self.benchmarks.get(benchmark) {
            *id
        } else {
            let uuid = BenchmarkUuid::mint(tx.wall(), ids);
            let id = benchmark::ensure(tx, report.project, uuid, benchmark)?;
            self.benchmarks.insert(benchmark.to_owned(), id);
            id
        };
        let key = (measure.id, benchmark);
        let series = if let Some(id) = self.series.get(&key) {
            *id
        } else {
            let id = series::ensure(tx, report.testbed, measure.id, benchmark)?;
            self.series.insert(key, id);
            id
        };
        Ok(Place {
            measure: measure.id,
            benchmark,
            series,
            direction: measure
                .direction
                .as_deref()
                .and_then(|name| name.parse().ok()),
        })
    }
}
