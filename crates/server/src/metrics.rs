//! What operators watch. The names are those of stock servers. What a stock server counts and this one does not do has no
//! number here: it sends no mail (`email.send`), nobody signs up, logs in or confirms (the other `user.*`), and of what is
//! billed there are minutes only (`metrics.billed`, `active_series.billed`).

mod count;
mod level;
pub(crate) mod otlp;
pub(crate) mod prometheus;
mod watch;

pub(crate) use count::{Channel, Count};
pub(crate) use level::{Level, One};
pub(crate) use watch::Counting;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kiln_control::bench::Tier;

/// Seconds; queues and benchmarks take from a moment to hours.
const BUCKETS: [f64; 12] = [
    0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0,
];

/// Times that are spread over buckets; those of a job by the plan of its organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Span {
    /// From submission to `running`.
    Queue,
    /// From `running` to the result.
    Run,
    /// From submission to the result.
    Complete,
    /// From a report's arrival until it is stored.
    ReportCreate,
    /// What a harness wrote becomes numbers.
    ReportProcess,
    /// The numbers are judged and stored.
    ReportWrite,
}

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    counts: Mutex<BTreeMap<Count, u64>>,
    spans: Mutex<BTreeMap<(Span, Option<&'static str>), Histogram>>,
    /// Runners that have a job.
    pub(crate) executing: Level,
    /// Runners that were offered a newer program and have not asked for work since.
    pub(crate) updating: Level,
}

/// Times over buckets, each of which counts the times up to its bound.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

/// Everything of one name.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    name: &'static str,
    readings: Vec<(Attribute, Reading)>,
}

type Attribute = Option<(&'static str, String)>;

#[derive(Clone, Copy, Debug)]
enum Reading {
    /// Only grows while the server runs.
    Count(u64),
    /// Goes up and down.
    Level(u64),
    Spread(Histogram),
}

const TIER: &str = "priority.tier";
const STATE: &str = "state";
const RUNNER_STATE: &str = "runner.state";
const CONNECTED: &str = "runner.connected";

impl Metrics {
    pub(crate) fn count(&self, what: Count) {
        self.add(what, 1);
    }

    /// A project that a run or a push named was new, and perhaps the organization it is in.
    pub(crate) fn count_begun(&self, project: bool, organization: bool) {
        self.add(Count::ProjectCreate, usize::from(project));
        self.add(Count::OrganizationCreate, usize::from(organization));
    }

    pub(crate) fn add(&self, what: Count, how_many: usize) {
        if how_many == 0 {
            return;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(what).or_default() += u64::try_from(how_many).unwrap_or(u64::MAX);
    }

    pub(crate) fn observe(&self, what: Span, tier: Option<Tier>, span: Duration) {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = spans.entry((what, tier.map(Tier::name))).or_default();
        let seconds = span.as_secs_f64();
        for (bucket, limit) in histogram.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= limit);
        }
        histogram.count += 1;
        histogram.sum += seconds;
    }

    /// Everything as it is now, in the order of its names. `runners` is how many are connected.
    pub(crate) fn read(&self, runners: usize) -> Vec<Family> {
        let mut families: Vec<Family> = Vec::new();
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (what, value) in &*counts {
            let (name, attribute) = what.name();
            add(&mut families, name, attribute, Reading::Count(*value));
        }
        drop(counts);
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        for ((what, tier), histogram) in &*spans {
            let attribute = tier.map(|tier| (TIER, tier.to_owned()));
            let reading = Reading::Spread(*histogram);
            add(&mut families, what.name(), attribute, reading);
        }
        drop(spans);
        let (executing, updating) = (self.executing.now(), self.updating.now());
        for (state, how_many) in [
            ("idle", runners.saturating_sub(executing + updating)),
            ("executing", executing),
            ("updating", updating),
        ] {
            let attribute = Some((STATE, state.to_owned()));
            add(&mut families, RUNNER_STATE, attribute, level(how_many));
        }
        add(&mut families, CONNECTED, None, level(runners));
        families
    }
}

impl Span {
    const fn name(self) -> &'static str {
        match self {
            Self::Queue => "job.queue.duration",
            Self::Run => "job.run.duration",
            Self::Complete => "job.complete.duration",
            Self::ReportCreate => "report.create.duration",
            Self::ReportProcess => "report.process.duration",
            Self::ReportWrite => "report.write.duration",
        }
    }
}

fn level(how_many: usize) -> Reading {
    Reading::Level(u64::try_from(how_many).unwrap_or(u64::MAX))
}

/// What is counted comes in the order of `Count`, so readings of one name stand together.
fn add(families: &mut Vec<Family>, name: &'static str, attribute: Attribute, reading: Reading) {
    match families.last_mut() {
        Some(last) if last.name == name => last.readings.push((attribute, reading)),
        _ => families.push(Family {
            name,
            readings: vec![(attribute, reading)],
        }),
    }
}

#[cfg(test)]
mod tests {
    use kiln_model::Status;

    use super::*;

    #[test]
    fn counters_and_histograms_are_written_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        metrics.count(Count::JobClaim);
        metrics.count(Count::JobUpdate(Status::Running));
        metrics.count(Count::JobUpdate(Status::Failed));
        metrics.count(Count::JobUpdate(Status::Failed));
        metrics.observe(Span::Queue, Some(Tier::Free), Duration::from_secs(2));
        metrics.observe(Span::ReportCreate, None, Duration::from_secs(2));
        let busy = metrics.executing.enter();
        let updating = metrics.updating.enter();
        let text = prometheus::render(&metrics.read(4));
        drop((busy, updating));
        for expected in [
            "# TYPE runner_job_claim_total counter\nrunner_job_claim_total 1\n",
            "runner_job_update_total{job_status=\"failed\"} 2\n",
            "# TYPE job_queue_duration_seconds histogram\n",
            "job_queue_duration_seconds_bucket{priority_tier=\"free\",le=\"1\"} 0\n",
            "job_queue_duration_seconds_bucket{priority_tier=\"free\",le=\"5\"} 1\n",
            "job_queue_duration_seconds_sum{priority_tier=\"free\"} 2\n",
            "job_queue_duration_seconds_count{priority_tier=\"free\"} 1\n",
            "report_create_duration_seconds_count 1\n",
            "runner_state{state=\"idle\"} 2\n",
            "runner_state{state=\"executing\"} 1\n",
            "runner_state{state=\"updating\"} 1\n",
            "runner_connected 4\n",
        ] {
            assert!(text.contains(expected), "{expected} is not in\n{text}");
        }
        assert_eq!(
            text.matches("# TYPE runner_job_update_total").count(),
            1,
            "{text}"
        );
    }
}
