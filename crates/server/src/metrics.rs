//! What operators watch, as Prometheus reads it. The names are those of stock servers, with dots as underscores and the unit
//! at the end; every name stands in this file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kiln_control::bench::Tier;
use kiln_model::Status;

/// Seconds; queues and benchmarks take from a moment to hours.
const BUCKETS: [f64; 12] = [
    0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0,
];

/// Things that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Count {
    RunCreate,
    JobClaim,
    /// A runner moved a job to this status.
    JobUpdate(Status),
    HeartbeatTimeout,
    Connect,
    Disconnect,
    MinutesBilled,
    MinutesBilledFailed,
}

/// Times of a job that are spread over buckets, by the plan of the job's organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Span {
    /// From submission to `running`.
    Queue,
    /// From `running` to the result.
    Run,
    /// From submission to the result.
    Complete,
}

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    counts: Mutex<BTreeMap<Count, u64>>,
    spans: Mutex<BTreeMap<(Span, &'static str), Histogram>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    pub(crate) fn count(&self, what: Count) {
        self.add(what, 1);
    }

    pub(crate) fn add(&self, what: Count, how_many: usize) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(what).or_default() += u64::try_from(how_many).unwrap_or(u64::MAX);
    }

    pub(crate) fn observe(&self, what: Span, tier: Tier, span: Duration) {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = spans.entry((what, tier.name())).or_default();
        let seconds = span.as_secs_f64();
        for (bucket, limit) in histogram.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= limit);
        }
        histogram.count += 1;
        histogram.sum += seconds;
    }

    /// Everything, in the text format of Prometheus. `runners` is how many are connected.
    pub(crate) fn render(&self, runners: usize) -> String {
        let mut text = String::new();
        let mut last = "";
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (what, value) in &*counts {
            let (name, label) = what.name();
            head(&mut text, &mut last, name, "counter");
            line(&mut text, name, &label, *value);
        }
        drop(counts);
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        for ((what, tier), histogram) in &*spans {
            let name = what.name();
            head(&mut text, &mut last, name, "histogram");
            for (bucket, limit) in histogram.buckets.iter().zip(BUCKETS) {
                let label = format!("{{priority_tier=\"{tier}\",le=\"{limit}\"}}");
                line(&mut text, &format!("{name}_bucket"), &label, *bucket);
            }
            let label = format!("{{priority_tier=\"{tier}\",le=\"+Inf\"}}");
            line(
                &mut text,
                &format!("{name}_bucket"),
                &label,
                histogram.count,
            );
            let label = format!("{{priority_tier=\"{tier}\"}}");
            line(&mut text, &format!("{name}_sum"), &label, histogram.sum);
            line(&mut text, &format!("{name}_count"), &label, histogram.count);
        }
        drop(spans);
        head(&mut text, &mut last, "runner_connected", "gauge");
        line(&mut text, "runner_connected", "", runners);
        text
    }
}

impl Count {
    fn name(self) -> (&'static str, String) {
        let plain = String::new();
        match self {
            Self::RunCreate => ("run_create_total", plain),
            Self::JobClaim => ("runner_job_claim_total", plain),
            Self::JobUpdate(status) => (
                "runner_job_update_total",
                format!("{{job_status=\"{status}\"}}"),
            ),
            Self::HeartbeatTimeout => ("runner_heartbeat_timeout_total", plain),
            Self::Connect => ("runner_connect_total", plain),
            Self::Disconnect => ("runner_disconnect_total", plain),
            Self::MinutesBilled => ("runner_minutes_billed_total", plain),
            Self::MinutesBilledFailed => ("runner_minutes_billed_failed_total", plain),
        }
    }
}

impl Span {
    const fn name(self) -> &'static str {
        match self {
            Self::Queue => "job_queue_duration_seconds",
            Self::Run => "job_run_duration_seconds",
            Self::Complete => "job_complete_duration_seconds",
        }
    }
}

/// Each family has its type once, before its first line.
fn head(text: &mut String, last: &mut &'static str, name: &'static str, kind: &str) {
    if *last != name {
        *last = name;
        writeln!(text, "# TYPE {name} {kind}").expect("a string takes everything");
    }
}

fn line(text: &mut String, name: &str, label: &str, value: impl std::fmt::Display) {
    writeln!(text, "{name}{label} {value}").expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_histograms_are_written_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        metrics.count(Count::JobClaim);
        metrics.count(Count::JobUpdate(Status::Running));
        metrics.count(Count::JobUpdate(Status::Failed));
        metrics.count(Count::JobUpdate(Status::Failed));
        metrics.observe(Span::Queue, Tier::Free, Duration::from_secs(2));
        let text = metrics.render(3);
        for expected in [
            "# TYPE runner_job_claim_total counter\nrunner_job_claim_total 1\n",
            "runner_job_update_total{job_status=\"failed\"} 2\n",
            "# TYPE job_queue_duration_seconds histogram\n",
            "job_queue_duration_seconds_bucket{priority_tier=\"free\",le=\"1\"} 0\n",
            "job_queue_duration_seconds_bucket{priority_tier=\"free\",le=\"5\"} 1\n",
            "job_queue_duration_seconds_sum{priority_tier=\"free\"} 2\n",
            "job_queue_duration_seconds_count{priority_tier=\"free\"} 1\n",
            "runner_connected 3\n",
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
