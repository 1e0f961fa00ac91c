//! Metrics: measured numbers, each with the boundary it was compared with.

use kiln_model::{GitHash, MetricUuid, Millis, ReportUuid};

use super::list::{numbered, query_list};
use crate::{Engine, Error, Query, Row, Tx, Value, params};

/// One number of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub series: i64,
    pub report: i64,
    pub iteration: i64,
    pub uuid: MetricUuid,
    pub value: f64,
    pub lower_value: Option<f64>,
    pub upper_value: Option<f64>,
    pub judged: Option<Judged>,
}

/// By which model it was judged, and the boundary that followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub threshold: i64,
    pub model: i64,
    pub baseline: Option<f64>,
    pub lower_limit: Option<f64>,
    pub upper_limit: Option<f64>,
}

/// A metric of a report with the ids of what it measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub metric: Metric,
    pub benchmark: i64,
    pub measure: i64,
}

const COLUMNS: &str = "metric.series_id, metric.report_id, metric.iteration, metric.uuid, metric.value, metric.lower_value, \
    metric.upper_value, metric.threshold_id, metric.model_id, metric.baseline, metric.lower_limit, metric.upper_limit";

/// How many rows one statement writes where each waits for an answer. What is left over is written row by row.
const ROWS: usize = 32;
/// How many columns a row has.
const WIDTH: usize = 12;

pub fn insert(tx: &mut dyn Tx, metrics: &[Metric]) -> Result<(), Error> {
    let rows = match tx.engine() {
        // So that it can undo half a statement it copies every page that the statement changes: one row at a time is twice as fast.
        Engine::Sqlite => 1,
        Engine::Postgres => ROWS,
    };
    let mut pieces = metrics.chunks_exact(rows);
    let many = insert_sql(rows);
    for piece in &mut pieces {
        let params: Vec<Value> = piece.iter().flat_map(row).collect();
        tx.execute(&many, &params)?;
    }
    let one = insert_sql(1);
    for metric in pieces.remainder() {
        tx.execute(&one, &row(metric))?;
    }
    Ok(())
}

fn insert_sql(rows: usize) -> String {
    let rows = (0..rows).map(|row| format!("({})", numbered(row * WIDTH + 1, WIDTH)));
    format!(
        "INSERT INTO metric (series_id, report_id, iteration, uuid, value, lower_value, upper_value, threshold_id, model_id, \
         baseline, lower_limit, upper_limit) VALUES {}",
        rows.collect::<Vec<_>>().join(", ")
    )
}

fn row(metric: &Metric) -> [Value; WIDTH] {
    let judged = metric.judged;
    [
        metric.series.into(),
        metric.report.into(),
        metric.iteration.into(),
        metric.uuid.to_string().into(),
        metric.value.into(),
        metric.lower_value.into(),
        metric.upper_value.into(),
        judged.map(|judged| judged.threshold).into(),
        judged.map(|judged| judged.model).into(),
        judged.and_then(|judged| judged.baseline).into(),
        judged.and_then(|judged| judged.lower_limit).into(),
        judged.and_then(|judged| judged.upper_limit).into(),
    ]
}

/// The metrics of a report, by iteration, benchmark and measure.
pub fn of_report<Q: Query + ?Sized>(query: &mut Q, report: i64) -> Result<Vec<Placed>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}, series.benchmark_id, series.measure_id FROM metric \
         JOIN series ON series.id = metric.series_id JOIN benchmark ON benchmark.id = series.benchmark_id \
         JOIN measure ON measure.id = series.measure_id WHERE metric.report_id = ?1 \
         ORDER BY metric.iteration, benchmark.name, measure.name"
    );
    let rows = query.query(&sql, params![report])?;
    rows.iter().map(read_placed).collect()
}

/// A metric of a project with the id of its testbed.
pub fn find_in_project<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    uuid: &str,
) -> Result<Option<(Placed, i64)>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}, series.benchmark_id, series.measure_id, series.testbed_id FROM metric \
         JOIN series ON series.id = metric.series_id JOIN testbed ON testbed.id = series.testbed_id \
         WHERE metric.uuid = ?2 AND testbed.project_id = ?1"
    );
    let row = query.query_one(&sql, params![project, uuid])?;
    row.map(|row| Ok((read_placed(&row)?, row.get(14)?)))
        .transpose()
}

pub fn find<Q: Query + ?Sized>(
    query: &mut Q,
    series: i64,
    report: i64,
    iteration: i64,
) -> Result<Option<Placed>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}, series.benchmark_id, series.measure_id FROM metric \
         JOIN series ON series.id = metric.series_id \
         WHERE metric.series_id = ?1 AND metric.report_id = ?2 AND metric.iteration = ?3"
    );
    let row = query.query_one(&sql, params![series, report, iteration])?;
    row.as_ref().map(read_placed).transpose()
}

/// The metrics of a series from a report on, in order of reports.
pub fn of_series<Q: Query + ?Sized>(
    query: &mut Q,
    series: i64,
    from_report: i64,
) -> Result<Vec<Metric>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM metric WHERE metric.series_id = ?1 AND metric.report_id >= ?2 \
         ORDER BY metric.report_id, metric.iteration"
    );
    let rows = query.query(&sql, params![series, from_report])?;
    rows.iter().map(read).collect()
}

/// A value of a series, and when it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub series: i64,
    pub report: i64,
    pub iteration: i64,
    pub value: f64,
}

/// Only the values of some series, from a report on.
pub fn samples<Q: Query + ?Sized>(
    query: &mut Q,
    series: &[i64],
    from_report: i64,
) -> Result<Vec<Sample>, Error> {
    let list: Vec<Value> = series.iter().map(|id| Value::from(*id)).collect();
    let rows = query_list(query, params![from_report], &list, |places| {
        format!(
            "SELECT series_id, report_id, iteration, value FROM metric WHERE series_id IN {places} AND report_id >= ?1"
        )
    })?;
    rows.iter()
        .map(|row| {
            Ok(Sample {
                series: row.get(0)?,
                report: row.get(1)?,
                iteration: row.get(2)?,
                value: row.get(3)?,
            })
        })
        .collect()
}

/// For each iteration of a report: how many benchmarks and how many measures it has.
pub fn counts<Q: Query + ?Sized>(query: &mut Q, report: i64) -> Result<Vec<(u32, u32)>, Error> {
    let rows = query.query(
        "SELECT COUNT(DISTINCT series.benchmark_id), COUNT(DISTINCT series.measure_id) FROM metric \
         JOIN series ON series.id = metric.series_id WHERE metric.report_id = ?1 \
         GROUP BY metric.iteration ORDER BY metric.iteration",
        params![report],
    )?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

/// A report that a line of a plot passes through.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    pub report: i64,
    pub uuid: ReportUuid,
    pub start_time: Millis,
    pub end_time: Millis,
    pub version: u32,
    pub git_hash: Option<GitHash>,
}

/// What reports a history is made of.
#[derive(Clone, Copy, Debug)]
pub struct Track {
    pub head: i64,
    pub testbed: i64,
    /// Only reports of jobs on this spec.
    pub spec: Option<i64>,
    pub from: Option<Millis>,
    pub to: Option<Millis>,
    /// The newest so many.
    pub limit: i64,
}

/// The finished reports of a head's versions on a testbed, newest first: by version, then by time. Among the versions of a
/// head a newer one has the greater id, so that the newest so many are found without a look at the others.
pub fn track<Q: Query + ?Sized>(query: &mut Q, track: Track) -> Result<Vec<Stop>, Error> {
    let rows = query.query(
        "SELECT report.id, report.uuid, report.start_time, report.end_time, version.number, version.git_hash \
         FROM head_version JOIN version ON version.id = head_version.version_id \
         JOIN report ON report.version_id = version.id \
         WHERE head_version.head_id = ?1 AND report.testbed_id = ?2 AND report.status = 'ready' \
         AND (CAST(?3 AS BIGINT) IS NULL OR EXISTS (SELECT 1 FROM job WHERE job.report_id = report.id AND job.spec_id = ?3)) \
         AND (CAST(?4 AS BIGINT) IS NULL OR report.start_time >= ?4) AND (CAST(?5 AS BIGINT) IS NULL OR report.start_time <= ?5) \
         ORDER BY head_version.version_id DESC, report.start_time DESC, report.id DESC LIMIT ?6",
        params![
            track.head,
            track.testbed,
            track.spec,
            track.from,
            track.to,
            track.limit
        ],
    )?;
    rows.iter()
        .map(|row| {
            Ok(Stop {
                report: row.get(0)?,
                uuid: super::parse(row, 1)?,
                start_time: row.get(2)?,
                end_time: row.get(3)?,
                version: row.get(4)?,
                git_hash: super::parse_optional(row, 5)?,
            })
        })
        .collect()
}

fn read_placed(row: &Row) -> Result<Placed, Error> {
    Ok(Placed {
        metric: read(row)?,
        benchmark: row.get(12)?,
        measure: row.get(13)?,
    })
}

fn read(row: &Row) -> Result<Metric, Error> {
    let threshold: Option<i64> = row.get(7)?;
    let model: Option<i64> = row.get(8)?;
    let judged = match threshold.zip(model) {
        Some((threshold, model)) => Some(Judged {
            threshold,
            model,
            baseline: row.get(9)?,
            lower_limit: row.get(10)?,
            upper_limit: row.get(11)?,
        }),
        None => None,
    };
    Ok(Metric {
        series: row.get(0)?,
        report: row.get(1)?,
        iteration: row.get(2)?,
        uuid: super::parse(row, 3)?,
        value: row.get(4)?,
        lower_value: row.get(5)?,
        upper_value: row.get(6)?,
        judged,
    })
}
