//! `console.time`: `NAME: 1.234ms`, with ` - timer ended` behind it in browsers.

use super::lines::{Line, lines};
use super::number::{float, with_suffix};
use super::sheet::{Bounds, Row, Sheet};
use super::unit::nanoseconds;
use crate::measure::LATENCY;
use crate::{ParseError, Results};

const EXPECTED: &str = "a line like `NAME: 1.234ms`";

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    for line in lines(text) {
        let Some((name, latency)) = read(&line) else {
            continue;
        };
        let mut row = Row::default();
        row.set(LATENCY, latency, Bounds::NONE);
        sheet.add(&line, name, row)?;
    }
    sheet.finish(EXPECTED)
}

fn read<'a>(line: &Line<'a>) -> Option<(&'a str, f64)> {
    let text = line.text.trim();
    let text = text.strip_suffix(" - timer ended").unwrap_or(text);
    let clock = [" (m:ss.mmm)", " (h:mm:ss.mmm)"]
        .iter()
        .find_map(|end| text.strip_suffix(end));
    if let Some((name, clock)) = clock.and_then(|text| text.rsplit_once(": ")) {
        return Some((name.trim(), clock_seconds(clock)? * 1e9));
    }
    let (name, time) = text.rsplit_once(':')?;
    let (value, unit) = with_suffix(time.strip_prefix(' ')?)?;
    Some((name.trim(), value * nanoseconds(unit)?))
}

/// Timers of a minute and more: `1:02.345` or `1:02:03.456`.
fn clock_seconds(clock: &str) -> Option<f64> {
    clock
        .split(':')
        .try_fold(0.0, |seconds, part| Some(seconds * 60.0 + float(part)?))
}

#[cfg(test)]
mod tests;
