//! asv's progress on the console: `[ 50.00%] ··· NAME  1.23±0.4μs`, with a table below it for each benchmark with parameters.

mod table;

use super::lines::{Line, lines};
use super::number::{float, with_suffix};
use super::sheet::{Bounds, Row, Sheet};
use super::unit::{nanoseconds, prefix};
use crate::measure::{LATENCY, PEAK_MEMORY};
use crate::{ParseError, Results};
use table::Table;

const EXPECTED: &str = "a line like `[ 50.00%] ··· module.time_name  1.23±0.4μs`";

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    let mut name = "";
    let mut lines = lines(text);
    while let Some(line) = lines.next() {
        let Some(said) = progress(line.text) else {
            continue;
        };
        if said.starts_with('=') {
            let table = Table::read(line, &mut lines)?;
            for (parameters, cell) in table.cells() {
                if let Some(row) = value(&cell.line, name, cell.text)? {
                    sheet.add(&cell.line, &format!("{name}({parameters})"), row)?;
                }
            }
        } else if let Some((benchmark, outcome)) = said.split_once("  ") {
            name = benchmark;
            if let Some(row) = value(&line, name, outcome.trim())? {
                sheet.add(&line, name, row)?;
            }
        }
    }
    sheet.finish(EXPECTED)
}

/// What a line says about one benchmark: deeper lines are details, shallower ones about the whole run.
fn progress(line: &str) -> Option<&str> {
    let (percent, said) = line.strip_prefix('[')?.split_once("] ··· ")?;
    percent.trim().strip_suffix('%')?;
    Some(said.trim_end())
}

/// Nothing where there is no value: the benchmark has a table, failed, or does not apply.
fn value(line: &Line<'_>, name: &str, outcome: &str) -> Result<Option<Row>, ParseError> {
    if matches!(outcome, "ok" | "n/a" | "skipped") || outcome.ends_with("failed") {
        return Ok(None);
    }
    let expected = "a value like `1.23±0.4μs`";
    let mut row = Row::default();
    if let Some((value, rest)) = outcome.split_once('±') {
        let parts = float(value).zip(with_suffix(rest));
        let (value, (spread, unit)) = line.need(parts, outcome, expected)?;
        let factor = line.need(nanoseconds(unit), unit, "a unit of time")?;
        row.set(
            LATENCY,
            value * factor,
            Bounds::around(value * factor, spread * factor),
        );
        return Ok(Some(row));
    }
    let (value, unit) = line.need(with_suffix(outcome), outcome, expected)?;
    let kind = name.rsplit('.').next().unwrap_or(name);
    if kind.starts_with("time") {
        let factor = line.need(nanoseconds(unit), outcome, expected)?;
        row.set(LATENCY, value * factor, Bounds::NONE);
    } else {
        let factor = line.need(prefix(unit), outcome, "a number with `k`, `M` or `G`")?;
        row.set(measure(kind), value * factor, Bounds::NONE);
    }
    Ok(Some(row))
}

/// What a benchmark measures is in its name.
fn measure(kind: &str) -> &'static str {
    if kind.starts_with("peakmem") {
        PEAK_MEMORY
    } else if kind.starts_with("mem") {
        "memory"
    } else {
        "value"
    }
}

#[cfg(test)]
mod tests;
