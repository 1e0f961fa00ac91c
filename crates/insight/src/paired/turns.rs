//! Whole runs that take turns. Every benchmark and measure they tell of is a line of its own, with a test of its own.

use std::collections::BTreeMap;

use super::{Paired, PairedReport, PairedSettings, TURNS_OF_A_BLOCK};
use crate::measure::{self, LATENCY, THROUGHPUT};
use crate::threshold::Direction;
use crate::{Results, Verdict};

/// What decides, and when.
#[derive(Clone, Debug)]
pub struct TurnsSettings {
    /// The least difference that matters, as a share of the base.
    pub gate: f64,
    /// How often equal programs may be called different, over all lines that decide.
    pub error_rate: f64,
    /// The measure that decides. Without one it is latency, or throughput, or everything that is measured.
    pub measure: Option<String>,
}

/// A benchmark and a measure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub benchmark: String,
    pub measure: String,
}

/// What the turns say about a line.
#[derive(Clone, Debug, PartialEq)]
pub enum LineReport {
    Compared(PairedReport),
    /// It cannot be compared, for this reason.
    LeftOut(&'static str),
}

/// The turns so far: base, head, head, base, and again.
#[derive(Clone, Debug)]
pub struct Turns {
    settings: TurnsSettings,
    /// The turns of the block that is not whole yet.
    block: Vec<BTreeMap<Line, f64>>,
    /// Those of the first turn; a benchmark that comes later has no beginning to be compared with.
    lines: BTreeMap<Line, State>,
    blocks: usize,
}

#[derive(Clone, Debug)]
struct State {
    decides: bool,
    line: Result<Paired, &'static str>,
}

const MISSING: &str = "it was not measured in every turn";
const NOT_POSITIVE: &str = "it was zero or less, which has no ratio";

impl Turns {
    pub fn new(settings: TurnsSettings) -> Self {
        Self {
            settings,
            block: Vec::new(),
            lines: BTreeMap::new(),
            blocks: 0,
        }
    }

    /// Adds what the next turn measured: one set of results for each text it wrote.
    pub fn add(&mut self, results: &[Results]) {
        let values = values(results);
        if self.blocks == 0 && self.block.is_empty() {
            self.lines = begin(&values, &self.settings);
        }
        self.block.push(values);
        if self.block.len() < TURNS_OF_A_BLOCK {
            return;
        }
        for (name, state) in &mut self.lines {
            let turns: Vec<f64> = self
                .block
                .iter()
                .filter_map(|turn| turn.get(name).copied())
                .collect();
            let Ok(paired) = &mut state.line else {
                continue;
            };
            let added = match <[f64; TURNS_OF_A_BLOCK]>::try_from(turns) {
                Ok(turns) => paired.add(turns).map_err(|_| NOT_POSITIVE),
                Err(_) => Err(MISSING),
            };
            if let Err(reason) = added {
                state.line = Err(reason);
            }
        }
        self.block.clear();
        self.blocks += 1;
    }

    /// Two for each whole block.
    pub fn pairs(&self) -> usize {
        self.blocks * 2
    }

    /// Whether every line that decides has decided. A line that cannot be compared holds up nobody.
    pub fn is_decided(&self) -> bool {
        let mut deciding = self.deciding().peekable();
        deciding.peek().is_some() && deciding.all(Paired::is_decided)
    }

    /// Slower if any line that decides is, and nothing while one of them cannot tell.
    pub fn verdict(&self) -> Verdict {
        let verdicts: Vec<Verdict> = self.deciding().map(|line| line.report().verdict).collect();
        let has = |verdict| verdicts.contains(&verdict);
        match () {
            () if has(Verdict::Slower) => Verdict::Slower,
            () if verdicts.is_empty() || has(Verdict::CannotTell) => Verdict::CannotTell,
            () if has(Verdict::Faster) => Verdict::Faster,
            () => Verdict::Same,
        }
    }

    /// All lines, with whether each decides.
    pub fn lines(&self) -> impl Iterator<Item = (&Line, bool, LineReport)> {
        self.lines.iter().map(|(name, state)| {
            let report = match &state.line {
                Ok(paired) => LineReport::Compared(paired.report()),
                Err(reason) => LineReport::LeftOut(reason),
            };
            (name, state.decides, report)
        })
    }

    fn deciding(&self) -> impl Iterator<Item = &Paired> {
        self.lines
            .values()
            .filter(|state| state.decides)
            .filter_map(|state| state.line.as_ref().ok())
    }
}

/// A number that comes twice in a turn counts once: the first.
fn values(results: &[Results]) -> BTreeMap<Line, f64> {
    let mut values = BTreeMap::new();
    for (benchmark, measures) in results.iter().flat_map(Results::iter) {
        for (measure, metric) in measures {
            let line = Line {
                benchmark: benchmark.as_str().to_owned(),
                measure: measure.as_str().to_owned(),
            };
            values.entry(line).or_insert_with(|| metric.value());
        }
    }
    values
}

/// The error rate is shared out among the lines that decide, so that many benchmarks are no more often wrong than one.
fn begin(first: &BTreeMap<Line, f64>, settings: &TurnsSettings) -> BTreeMap<Line, State> {
    let told = |measure: &str| first.keys().any(|line| line.measure == measure);
    let deciding = match &settings.measure {
        Some(measure) => Some(measure.as_str()),
        None => [LATENCY, THROUGHPUT].into_iter().find(|name| told(name)),
    };
    let decides = |line: &Line| deciding.is_none_or(|measure| line.measure == measure);
    let count = first.keys().filter(|line| decides(line)).count().max(1);
    let share = u32::try_from(count).unwrap_or(u32::MAX);
    let state = |line: &Line| State {
        decides: decides(line),
        line: Ok(Paired::new(PairedSettings {
            gate: settings.gate,
            error_rate: settings.error_rate / f64::from(share),
            direction: measure::describe(&line.measure)
                .direction
                .unwrap_or(Direction::SmallerIsBetter),
        })),
    };
    first
        .keys()
        .map(|line| (line.clone(), state(line)))
        .collect()
}

#[cfg(test)]
mod tests;
