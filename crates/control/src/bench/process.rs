//! Output becomes a report's numbers.

use kiln_insight::{Results, read_all, result_texts};
use kiln_model::v0::{DateTime, JobConfig, JobOutput, LargeOutput, PairedOutcome};
use kiln_model::{Digest, Millis, Status};
use kiln_store::sql::report::{self, Report, ReportMetric};
use kiln_store::sql::{job, job_output};
use kiln_store::{Bell, Tx};
use serde::Deserialize;

use super::{RunSettings, pairs, record};
use crate::{Denied, jobs};

/// What was read out of an output, before anything is written: metrics, or why there are none.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub metrics: Result<Vec<ReportMetric>, String>,
    /// How two images compare, where they took turns.
    pub paired: Option<PairedOutcome>,
}

/// Which upload a stored output names.
pub(crate) fn large_digest(output: &[u8]) -> Option<Digest> {
    #[derive(Deserialize)]
    struct Names {
        large: Option<LargeOutput>,
    }
    let names: Names = serde_json::from_slice(output).ok()?;
    names.large.map(|large| large.digest)
}

/// Reads the output of a job, with what was uploaded beside it, as its report's settings say, and its own configuration.
/// Pure: no transaction, no I/O.
pub fn parse(report: &Report, config: &str, output: &[u8], uploaded: &str) -> Parsed {
    match read(report, config, output, uploaded) {
        Ok((metrics, paired)) => Parsed {
            metrics: Ok(metrics),
            paired,
        },
        Err(reason) => Parsed {
            metrics: Err(reason),
            paired: None,
        },
    }
}

fn read(
    report: &Report,
    config: &str,
    output: &[u8],
    uploaded: &str,
) -> Result<(Vec<ReportMetric>, Option<PairedOutcome>), String> {
    let config: JobConfig = serde_json::from_str(config)
        .map_err(|error| format!("the stored job cannot be read: {error}"))?;
    let mut output: JobOutput = serde_json::from_slice(output)
        .map_err(|error| format!("the stored output cannot be read: {error}"))?;
    output.fill(uploaded);
    let settings: Option<kiln_model::v0::Settings> = serde_json::from_str(&report.settings)
        .map_err(|error| format!("the stored settings cannot be read: {error}"))?;
    let settings = RunSettings::check(settings.as_ref()).map_err(|denied| denied.to_string())?;
    if let Some(paired) = &config.paired {
        let (metrics, outcome) = pairs::read(&config, paired, &output, settings)?;
        return Ok((metrics, Some(outcome)));
    }
    let metrics = read_texts(settings, &result_texts(&output.results))?;
    Ok((metrics, None))
}

/// Reads result texts, each of which is an iteration of its own unless they are folded.
pub(super) fn read_texts(
    settings: RunSettings,
    texts: &[&str],
) -> Result<Vec<ReportMetric>, String> {
    let sets = read_all(settings.adapter, texts, settings.parse)
        .map_err(|unreadable| format!("{unreadable}: {}", unreadable.source))?;
    Ok(sets
        .iter()
        .zip(0..)
        .flat_map(|(results, iteration)| rows(results, iteration))
        .collect())
}

fn rows(results: &Results, iteration: i64) -> impl Iterator<Item = ReportMetric> + '_ {
    results.iter().flat_map(move |(benchmark, measures)| {
        measures.iter().map(move |(measure, metric)| ReportMetric {
            iteration,
            benchmark: benchmark.as_str().to_owned(),
            measure: measure.as_str().to_owned(),
            value: metric.value(),
            lower_value: metric.lower_value(),
            upper_value: metric.upper_value(),
        })
    })
}

/// Writes the report and moves the job to `processed`, once: an output that cannot be read makes the report `invalid`, with
/// the reason, and leaves the job `completed`. Answers how many numbers were written.
pub fn keep(tx: &mut dyn Tx, id: i64, epoch: i64, parsed: &Parsed) -> Result<usize, Denied> {
    let Some(mut found) = job::lock(tx, id)? else {
        return Ok(0);
    };
    if found.life.status != Status::Completed || found.life.epoch != epoch {
        return Ok(0);
    }
    let report_id = found.ask.report.ok_or(Denied::NotFound("report"))?;
    job_output::may_rest(tx, id, epoch)?;
    let times = times(&found);
    match &parsed.metrics {
        Ok(metrics) => {
            let mut report = report::find(tx, report_id)?.ok_or(Denied::NotFound("report"))?;
            (report.start_time, report.end_time) = times;
            record(tx, &report, metrics)?;
            report::conclude(tx, report_id, times, "ready", None)?;
            if let Some(outcome) = &parsed.paired {
                let text = serde_json::to_string(outcome).expect("an outcome is plain data");
                report::set_paired(tx, report_id, &text)?;
            }
            jobs::put_to_use(tx, &mut found, "server")?;
            Ok(metrics.len())
        }
        Err(reason) => {
            report::conclude(tx, report_id, times, "invalid", Some(reason))?;
            // Whoever follows the job hears that nothing more will come of it.
            tx.ring(Bell::Job(id));
            Ok(0)
        }
    }
}

/// Gives a report its numbers: it is ready.
pub(super) fn publish(
    tx: &mut dyn Tx,
    report: &Report,
    metrics: &[ReportMetric],
) -> Result<(), Denied> {
    record(tx, report, metrics)?;
    report::set_status(tx, report.id, "ready", None)?;
    Ok(())
}

/// When the report says that the job ran: as it did, or moved to the date that was asked for.
fn times(job: &job::Job) -> (Millis, Millis) {
    let start = job.life.started.unwrap_or(job.ask.created);
    let end = job.life.ended.unwrap_or(start);
    let config: Option<JobConfig> = serde_json::from_str(&job.ask.work).ok();
    match config.and_then(|config| config.backdate) {
        Some(DateTime(date)) => (date, Millis(date.0 + (end.0 - start.0))),
        None => (start, end),
    }
}

#[cfg(test)]
mod tests {
    use kiln_insight::Adapter;
    use kiln_model::Millis;
    use kiln_model::v0::{IterationOutput, LargeText, TextKind};

    use super::*;

    const UUID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
    const CONFIG: &str = r#"{"registry": "http://127.0.0.1", "project": "01890a5d-ac96-774b-bcce-b302099a8057", "timeout": 60,
        "digest": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}"#;

    fn report(adapter: Adapter) -> Report {
        Report {
            id: 1,
            uuid: UUID.parse().unwrap(),
            project: 1,
            account: None,
            branch: 1,
            version: 0,
            git_hash: None,
            testbed: 1,
            adapter: adapter.to_string(),
            settings: format!(r#"{{"adapter": {:?}}}"#, adapter.name()),
            status: "running".to_owned(),
            error: None,
            start_time: Millis(0),
            end_time: Millis(0),
            created: Millis(0),
        }
    }

    fn output(stdout: &str) -> Vec<u8> {
        let iteration = IterationOutput {
            stdout: Some(stdout.to_owned()),
            ..IterationOutput::default()
        };
        let output = JobOutput {
            results: vec![iteration],
            ..JobOutput::default()
        };
        serde_json::to_vec(&output).unwrap()
    }

    #[test]
    fn each_adapter_is_reached_by_its_name_on_the_wire() {
        for adapter in Adapter::ALL.iter().copied() {
            let parsed = parse(&report(adapter), CONFIG, &output("no result"), "");
            let reason = parsed.metrics.unwrap_err();
            let expected = format!("the adapter {adapter} cannot read result 0: ");
            assert!(reason.starts_with(&expected), "{reason}");
        }
    }

    #[test]
    fn output_of_a_harness_becomes_metrics() {
        let text = "BenchmarkAdd-2   1000   12.5 ns/op   16 B/op";
        let metrics = parse(&report(Adapter::GoBench), CONFIG, &output(text), "")
            .metrics
            .unwrap();
        let found: Vec<(&str, &str, f64)> = metrics
            .iter()
            .map(|m| (m.benchmark.as_str(), m.measure.as_str(), m.value))
            .collect();
        let expected = [
            ("BenchmarkAdd-2", "allocated", 16.0),
            ("BenchmarkAdd-2", "latency", 12.5),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_was_uploaded_is_read_in_the_place_of_its_beginning() {
        let whole = "BenchmarkAdd-2   1000   12.5 ns/op";
        let mut stored: JobOutput = serde_json::from_slice(&output("Bench")).unwrap();
        stored.large = Some(Box::new(LargeOutput {
            digest: Digest::from_hash(&[7; 32]).unwrap(),
            size: whole.len() as u64,
            texts: vec![LargeText {
                iteration: 0,
                stream: TextKind::Stdout,
                path: None,
                start: 0,
                size: whole.len() as u64,
            }],
        }));
        let stored = serde_json::to_vec(&stored).unwrap();
        assert_eq!(large_digest(&stored), Digest::from_hash(&[7; 32]));
        let parsed = parse(&report(Adapter::GoBench), CONFIG, &stored, whole);
        assert_eq!(parsed.metrics.unwrap().len(), 1);
    }
}
