//! What of a report is to be seen, in words, before it takes any form.

use std::collections::BTreeMap;

use kiln_model::MetricUuid;
use kiln_model::v0::{Alert, Boundary, Report, ReportMeasure, ReportResult};

use super::paired::{Paired, sentence};
use super::{Links, percent, quantity};

/// Which results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    Everything,
    /// Only what a threshold judged.
    Judged,
}

#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(super) project: String,
    /// One sentence about the outcome.
    pub(super) outcome: String,
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) link: String,
    /// How two images compare, when they were.
    pub(super) paired: Option<Paired>,
    pub(super) lines: Vec<Line>,
}

/// One metric.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) benchmark: String,
    pub(super) measure: String,
    pub(super) value: String,
    /// Against the baseline.
    pub(super) change: String,
    pub(super) limits: String,
    /// Empty when there is none.
    pub(super) alert: String,
    pub(super) plot: Option<String>,
}

impl View {
    pub(crate) fn new(report: &Report, links: &Links, show: Show) -> Self {
        let alerts: BTreeMap<MetricUuid, &Alert> = report
            .alerts
            .iter()
            .flatten()
            .map(|alert| (alert.metric.uuid, alert))
            .collect();
        let iterations = report.results.iter().flatten();
        let several = iterations.clone().count() > 1;
        let mut lines = Vec::new();
        for result in iterations.flatten() {
            for measure in &result.measures {
                if show == Show::Judged && measure.threshold.is_none() {
                    continue;
                }
                let alert = alerts.get(&measure.metric.uuid).copied();
                let mut line = Line::new(result, measure, alert);
                line.plot = links.plot(report, result, measure);
                if several {
                    line.benchmark = format!("{} #{}", line.benchmark, result.iteration);
                }
                lines.push(line);
            }
        }
        Self {
            project: report.project.name.to_string(),
            outcome: outcome(report),
            facts: facts(report),
            link: links.report(report),
            paired: report.paired.as_deref().map(Paired::new),
            lines,
        }
    }

    pub(crate) fn outcome(&self) -> &str {
        &self.outcome
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.paired.is_none()
    }

    /// Whether a pair says so, and is not one to check the host.
    pub(crate) fn is_slower(&self) -> bool {
        self.paired.as_ref().is_some_and(Paired::is_slower)
    }

    pub(super) fn alerts(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| !line.alert.is_empty())
    }
}

impl Line {
    fn new(result: &ReportResult, measure: &ReportMeasure, alert: Option<&Alert>) -> Self {
        let units = measure.measure.units.as_str();
        let metric = &measure.metric;
        Self {
            benchmark: result.benchmark.name.clone(),
            measure: measure.measure.name.to_string(),
            value: quantity(metric.value, units),
            change: measure
                .boundary
                .and_then(|boundary| change(metric.value, &boundary))
                .unwrap_or_default(),
            limits: measure
                .boundary
                .map(|boundary| limits(&boundary, units))
                .unwrap_or_default(),
            alert: alert.map(words).unwrap_or_default(),
            plot: None,
        }
    }
}

fn outcome(report: &Report) -> String {
    let counts = report.counts.alerts;
    if let (Some("ready"), Some(paired)) = (report.status.as_deref(), &report.paired) {
        return sentence(paired);
    }
    match (report.status.as_deref(), counts.active) {
        (Some("invalid"), _) => {
            let why = report.error.as_deref().unwrap_or("nobody knows why");
            format!("The results cannot be read: {why}")
        }
        (Some(status @ ("failed" | "canceled")), _) => match &report.error {
            Some(why) => format!("The run {status}: {why}"),
            None => format!("The run {status}"),
        },
        (Some(status @ ("pending" | "running")), _) => format!("The run is {status}"),
        (_, 0) if counts.total > 0 => format!("{} alerts, none of them active", counts.total),
        (_, 0) => "No alerts".to_owned(),
        (_, 1) => "1 alert".to_owned(),
        (_, active) => format!("{active} alerts"),
    }
}

fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let version = report.branch.head.version.as_ref();
    let hash = version.and_then(|version| version.hash.as_ref());
    let mut facts = vec![("Branch", report.branch.name.to_string())];
    facts.extend(hash.map(|hash| ("Commit", hash.to_string())));
    facts.push(("Testbed", report.testbed.name.to_string()));
    facts.push(("Adapter", report.adapter.to_string()));
    facts
}

fn change(value: f64, boundary: &Boundary) -> Option<String> {
    let baseline = boundary.baseline.filter(|baseline| *baseline != 0.0)?;
    Some(percent((value - baseline) / baseline))
}

fn limits(boundary: &Boundary, units: &str) -> String {
    let shown = |limit: f64| quantity(limit, units);
    match (boundary.lower_limit, boundary.upper_limit) {
        (Some(lower), Some(upper)) => format!("{} … {}", shown(lower), shown(upper)),
        (Some(lower), None) => format!("at least {}", shown(lower)),
        (None, Some(upper)) => format!("at most {}", shown(upper)),
        (None, None) => String::new(),
    }
}

fn words(alert: &Alert) -> String {
    let side = if alert.limit == "lower" {
        "below the limit"
    } else {
        "above the limit"
    };
    match alert.status.as_str() {
        "active" => side.to_owned(),
        other => format!("{side} ({other})"),
    }
}
