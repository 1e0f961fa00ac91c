//! A project's numbers: storing and judging a large report, and asking for a plot among a million metrics.

mod project;
mod requests;

use std::path::Path;
use std::time::Duration;

use crate::failure::Failure;
use crate::report::Measurement;
use crate::statistics::Summary;
use crate::target::{Target, Verdict};
use project::Filled;

/// How many benchmarks the large report has.
const BENCHMARKS: usize = 10_000;
const REPORT_SECONDS: f64 = 2.0;
/// How many reports of how many benchmarks make a million metrics.
const REPORTS: usize = 1_000;
const SERIES: usize = 1_000;
/// How many lines of a thousand points make ten thousand.
const LINES: usize = 10;
const QUERY_MS: f64 = 100.0;
const ROUNDS: usize = 5;

pub(crate) fn measure(place: &Path, say: &dyn Fn(&str)) -> Result<Measurement, Failure> {
    let server = requests::Running::start(place)?;
    say("numbers: a report of 10,000 benchmarks");
    let filled = Filled::new(&server);
    let mut reports = Vec::new();
    for round in 0..=ROUNDS {
        reports.push(filled.report(BENCHMARKS, round)?);
    }
    // The first one has no history to be judged by, and makes the benchmarks.
    let first = reports.remove(0);
    say("numbers: a million metrics");
    filled.million(REPORTS, SERIES)?;
    let mut queries = Vec::new();
    for _ in 0..ROUNDS {
        let (took, points) = filled.query(LINES)?;
        queries.push(took);
        if points != LINES * REPORTS {
            return Err(Failure::Wrong(format!(
                "the query answered {points} metrics"
            )));
        }
    }
    server.stop();
    let report = seconds(&reports);
    let query = seconds(&queries);
    Ok(Measurement {
        name: "numbers",
        what: "one server on SQLite, over HTTP",
        unit: "",
        fsync: None,
        sides: Vec::new(),
        targets: vec![
            Target {
                what: "a report of 10,000 benchmarks stored and judged within 2 s".to_owned(),
                verdict: Verdict::at_least(REPORT_SECONDS, report.median),
                reached: format!("{:.2} s", report.median),
            },
            Target {
                what: "10,000 of 1,000,000 metrics answered within 100 ms".to_owned(),
                verdict: Verdict::at_least(QUERY_MS, query.median * 1e3),
                reached: format!("{:.0} ms", query.median * 1e3),
            },
        ],
        notes: vec![
            format!(
                "reports {:.2}–{:.2} s, judged by a t test; the first, which makes the benchmarks, {:.2} s",
                report.lowest,
                report.highest,
                first.as_secs_f64()
            ),
            format!(
                "queries {:.0}–{:.0} ms; all times are from the first byte of a request to the last of its answer",
                query.lowest * 1e3,
                query.highest * 1e3
            ),
        ],
    })
}

fn seconds(durations: &[Duration]) -> Summary {
    Summary::of(durations.iter().map(Duration::as_secs_f64))
}
