//! A project with as many numbers as it takes.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::requests::Running;
use crate::failure::Failure;

pub(super) struct Filled<'a> {
    server: &'a Running,
}

impl<'a> Filled<'a> {
    pub(super) fn new(server: &'a Running) -> Self {
        Self { server }
    }

    /// A report of many benchmarks, a little different every time; how long it took.
    pub(super) fn report(&self, benchmarks: usize, round: usize) -> Result<Duration, Failure> {
        let models = json!({"latency": {"test": "t_test", "upper_boundary": 0.99}});
        let body = json!({
            "branch": "large",
            "testbed": "host",
            "start_time": "2026-11-15T08:16:16Z",
            "end_time": "2026-11-15T08:16:17Z",
            "results": [results(benchmarks, round)],
            "settings": {"adapter": "json"},
            "thresholds": {"models": models},
        });
        let answer = self
            .server
            .call("POST", "projects/bench/reports", &body.to_string())?;
        Ok(answer.took)
    }

    /// So many reports of so many benchmarks, without a threshold.
    pub(super) fn million(&self, reports: usize, benchmarks: usize) -> Result<(), Failure> {
        for round in 0..reports {
            let body = json!({
                "branch": "main",
                "testbed": "host",
                "start_time": "2026-11-15T08:16:16Z",
                "end_time": "2026-11-15T08:16:17Z",
                "results": [results(benchmarks, round)],
                "settings": {"adapter": "json"},
            });
            self.server
                .call("POST", "projects/bench/reports", &body.to_string())?;
        }
        Ok(())
    }

    /// How long a perf query for so many lines of `main` takes, and how many metrics it answers.
    pub(super) fn query(&self, lines: usize) -> Result<(Duration, usize), Failure> {
        let names: Vec<String> = (0..lines).map(name).collect();
        let path = format!(
            "projects/bench/perf?branches=main&testbeds=host&measures=latency&benchmarks={}",
            names.join(",")
        );
        let answer = self.server.call("GET", &path, "")?;
        let found: Value = serde_json::from_slice(&answer.body)?;
        let lines = found["results"].as_array().map(Vec::as_slice);
        let metrics = lines
            .unwrap_or_default()
            .iter()
            .filter_map(|line| line["metrics"].as_array());
        Ok((answer.took, metrics.map(Vec::len).sum()))
    }
}

fn results(benchmarks: usize, round: usize) -> String {
    let all: Map<String, Value> = (0..benchmarks)
        .map(|number| {
            let value = 1_000 + (number * 31 + round * 17) % 50;
            (name(number), json!({"latency": {"value": value}}))
        })
        .collect();
    Value::Object(all).to_string()
}

fn name(number: usize) -> String {
    format!("benchmark-{number}")
}
