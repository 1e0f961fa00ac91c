//! The numbers of a report are stored and judged, in one transaction.

use std::collections::BTreeMap;

use kiln_insight::threshold::{Judged, Limit, discoveries, judge, without_ending};
use kiln_model::{AlertUuid, MetricUuid};
use kiln_store::Tx;
use kiln_store::sql::alert::{self, NewAlert};
use kiln_store::sql::metric::{self, Metric};
use kiln_store::sql::report::{Report, ReportMetric};

use super::Ids;
use super::history::History;
use super::judges::{Judge, Judges};
use super::places::{Place, places};
use crate::Denied;

/// How many metrics are judged and written at a time: their histories are in memory together.
const AT_A_TIME: usize = 64;

/// Writes the metrics of a report with their boundaries, and the alerts that follow. The report itself is not changed, and is no
/// part of its own history as long as it is not `ready`.
pub fn record(tx: &mut dyn Tx, report: &Report, metrics: &[ReportMetric]) -> Result<(), Denied> {
    let ids = Ids::new(report.uuid);
    let judges = Judges::of(tx, report)?;
    // Read when somebody asks: most reports are judged by nobody.
    let mut history = None;
    let places = places(tx, report, metrics, &ids)?;
    let entries = metrics.iter().zip(places).enumerate();
    let mut entries: Vec<Entry<'_>> = entries
        .map(|(number, (metric, place))| Entry {
            number,
            metric,
            place,
            verdict: None,
        })
        .collect();
    // Metrics lie in the order of their series, and so what is read for a series is still at hand when it is written to.
    entries.sort_by_key(Entry::key);
    // Two spellings of one measure are one metric: the first counts.
    entries.dedup_by_key(|entry| entry.key());
    for some in entries.chunks_mut(AT_A_TIME) {
        judge_some(tx, report, some, &judges, &mut history)?;
        let rows: Vec<Metric> = some
            .iter()
            .map(|entry| entry.row(tx, report, &ids))
            .collect();
        metric::insert(tx, &rows)?;
    }
    control_discoveries(&mut entries, &judges);
    entries.sort_by_key(|entry| entry.number);
    for entry in &entries {
        alert(tx, report, entry, &ids)?;
    }
    Ok(())
}

/// A metric with what was decided about it.
struct Entry<'a> {
    /// Which of the report's metrics it is.
    number: usize,
    metric: &'a ReportMetric,
    place: Place,
    verdict: Option<Verdict>,
}

impl Entry<'_> {
    fn key(&self) -> (i64, i64) {
        (self.place.series, self.metric.iteration)
    }

    fn row(&self, tx: &dyn Tx, report: &Report, ids: &Ids) -> Metric {
        Metric {
            series: self.place.series,
            report: report.id,
            iteration: self.metric.iteration,
            uuid: MetricUuid::mint(tx.wall(), ids),
            value: self.metric.value,
            lower_value: self.metric.lower_value,
            upper_value: self.metric.upper_value,
            judged: self.verdict.as_ref().map(|verdict| metric::Judged {
                threshold: verdict.threshold,
                model: verdict.model,
                baseline: verdict.judged.boundary.baseline,
                lower_limit: verdict.judged.boundary.lower_limit,
                upper_limit: verdict.judged.boundary.upper_limit,
            }),
        }
    }
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

fn judge_some(
    tx: &mut dyn Tx,
    report: &Report,
    entries: &mut [Entry<'_>],
    judges: &Judges,
    history: &mut Option<History>,
) -> Result<(), Denied> {
    let judge_of = |place: Place| judges.of_metric(place.measure, place.benchmark);
    let judged = entries.iter().map(|entry| entry.place);
    let judged: BTreeMap<i64, &Judge> = judged
        .filter_map(|place| Some((place.series, judge_of(place)?)))
        .collect();
    if judged.is_empty() {
        return Ok(());
    }
    let history = match history {
        Some(history) => history,
        unread @ None => unread.insert(History::of(tx, report)?),
    };
    let samples = history.samples(tx, &judged)?;
    for entry in entries {
        let Some(by) = judge_of(entry.place) else {
            continue;
        };
        let values = samples.get(&entry.place.series);
        let values = values.map_or(&[][..], Vec::as_slice);
        let (benchmark, wants_no_alert) = without_ending(&entry.metric.benchmark);
        let (value, direction) = (entry.metric.value, entry.place.direction);
        let judged = judge(&by.model, benchmark, values, value, direction);
        entry.verdict = judged.map(|judged| Verdict::new(by, judged, wants_no_alert));
    }
    Ok(())
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

fn alert(tx: &mut dyn Tx, report: &Report, entry: &Entry<'_>, ids: &Ids) -> Result<(), Denied> {
    let Some(verdict) = &entry.verdict else {
        return Ok(());
    };
    let Some(crossing) = verdict.judged.crossing else {
        return Ok(());
    };
    let uuid = AlertUuid::mint(tx.wall(), ids);
    let new = NewAlert {
        uuid,
        project: report.project,
        report: report.id,
        series: entry.place.series,
        iteration: entry.metric.iteration,
        threshold: verdict.threshold,
        crossed: match crossing.limit {
            Limit::Lower => "lower",
            Limit::Upper => "upper",
        },
    };
    Ok(alert::insert(tx, new)?)
}
