//! hyperfine's `--export-json`.

use serde::Deserialize;

use super::document;
use super::sheet::{Bounds, Row, Sheet};
use super::statistics::mean;
use crate::measure::{LATENCY, PEAK_MEMORY, SYSTEM_TIME, USER_TIME};
use crate::{Average, ParseError, Results};

const EXPECTED: &str = "`{`, an object with the list `results`, and commands in it";

pub(crate) fn parse(text: &str, average: Average) -> Result<Results, ParseError> {
    let export: Export = document::read(text, EXPECTED)?;
    let mut sheet = Sheet::new(text);
    for command in export.results {
        sheet.add_named(&command.name, command.row(average))?;
    }
    sheet.finish(EXPECTED)
}

#[derive(Deserialize)]
struct Export {
    results: Vec<Command>,
}

/// Times are in seconds.
#[derive(Deserialize)]
struct Command {
    #[serde(rename = "command")]
    name: String,
    mean: f64,
    /// A single run has none.
    stddev: Option<f64>,
    median: f64,
    min: f64,
    max: f64,
    user: Option<f64>,
    system: Option<f64>,
    /// One for each run, since hyperfine 1.19.
    #[serde(default)]
    memory_usage_byte: Vec<f64>,
}

const NANOSECONDS: f64 = 1e9;

impl Command {
    fn row(&self, average: Average) -> Row {
        let mut row = Row::default();
        let (value, bounds) = match average {
            Average::Mean => {
                let mean = self.mean * NANOSECONDS;
                let spread = self.stddev.map(|stddev| stddev * NANOSECONDS);
                (mean, Bounds::around_if(mean, spread))
            }
            Average::Median => (
                self.median * NANOSECONDS,
                Bounds::between(self.min * NANOSECONDS, self.max * NANOSECONDS),
            ),
        };
        row.set(LATENCY, value, bounds);
        row.set_if(USER_TIME, self.user.map(|user| user * NANOSECONDS));
        row.set_if(SYSTEM_TIME, self.system.map(|system| system * NANOSECONDS));
        if !self.memory_usage_byte.is_empty() {
            row.set(PEAK_MEMORY, mean(&self.memory_usage_byte), Bounds::NONE);
        }
        row
    }
}

#[cfg(test)]
mod tests;
