//! The console reporter: three lines for each benchmark, with the name before the first. A long name is wrapped over several lines.

use super::{EXPECTED, Estimates};
use crate::adapters::lines::{Line, lines};
use crate::adapters::number::float;
use crate::adapters::sheet::Sheet;
use crate::adapters::unit::nanoseconds;
use crate::{ParseError, Results};

pub(super) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    let mut lines = lines(text);
    let mut is_table = false;
    let mut name = String::new();
    while let Some(line) = lines.next() {
        let trimmed = line.text.trim();
        if trimmed.starts_with("benchmark name") && trimmed.ends_with("estimated") {
            is_table = true;
            name.clear();
            continue;
        }
        if trimmed.starts_with("---") || trimmed.starts_with("===") || trimmed.starts_with("...") {
            name.clear();
            continue;
        }
        if !is_table
            || trimmed.is_empty()
            || trimmed == HEAD_OF_MEANS
            || is_head_of_deviations(trimmed)
        {
            continue;
        }
        let Some(start) = first_line(line.text) else {
            push(&mut name, trimmed);
            continue;
        };
        push(&mut name, start);
        let mean = times(&line, lines.next())?;
        let deviation = times(&line, lines.next())?;
        let row = Estimates { mean, deviation }.row();
        sheet.add(&line, &std::mem::take(&mut name), row)?;
    }
    sheet.finish(EXPECTED)
}

const HEAD_OF_MEANS: &str = "mean          low mean      high mean";

fn is_head_of_deviations(line: &str) -> bool {
    line.starts_with("std dev") && line.ends_with("high std dev")
}

fn push(name: &mut String, part: &str) {
    if !name.is_empty() {
        name.push(' ');
    }
    name.push_str(part);
}

/// The end of the name, when samples, iterations and the estimated time follow it.
fn first_line(line: &str) -> Option<&str> {
    let (rest, unit) = last_word(line)?;
    nanoseconds(unit)?;
    let (rest, estimated) = last_word(rest)?;
    float(estimated)?;
    let (rest, iterations) = last_word(rest)?;
    iterations.parse::<u64>().ok()?;
    let (rest, samples) = last_word(rest)?;
    samples.parse::<u64>().ok()?;
    Some(rest.trim())
}

fn last_word(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end();
    let start = line.trim_end_matches(|c: char| !c.is_whitespace()).len();
    (start < line.len()).then(|| line.split_at(start))
}

fn times(first: &Line<'_>, line: Option<Line<'_>>) -> Result<[f64; 3], ParseError> {
    let expected = "three times like `1.23 ns`";
    let line = line.ok_or_else(|| {
        first.error(
            first.text,
            &format!("expected {expected} on a line below this"),
        )
    })?;
    let mut words = line.words();
    let mut times = [0.0; 3];
    for time in &mut times {
        let value = words.next().unwrap_or(line.text);
        let pair = float(value).zip(words.next().and_then(nanoseconds));
        let (value, factor) = line.need(pair, value, expected)?;
        *time = value * factor;
    }
    Ok(times)
}
