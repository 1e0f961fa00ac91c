//! wrk's summary of a load test: one benchmark, named by its URL.

use std::borrow::Cow;

use super::lines::{Line, lines};
use super::number::with_suffix;
use super::sheet::{Bounds, Row, Sheet};
use super::unit::{bytes, nanoseconds, prefix};
use crate::measure::{BANDWIDTH, LATENCY, MAX_LATENCY, THROUGHPUT};
use crate::{ParseError, Results};

const EXPECTED: &str =
    "a line like `Running 10s test @ http://localhost/`, and `Requests/sec:` below it";

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    let mut current: Option<(&str, Row)> = None;
    for line in lines(text) {
        if line.text.starts_with("Running ")
            && let Some((_, url)) = line.text.split_once(" test @ ")
        {
            current = Some((url.trim(), Row::default()));
            continue;
        }
        let Some((url, row)) = &mut current else {
            continue;
        };
        read(&line, row)?;
        if line.text.starts_with("Transfer/sec:") {
            sheet.add(&line, url, std::mem::take(row))?;
            current = None;
        }
    }
    sheet.finish(EXPECTED)
}

/// No line of a summary has more: the socket errors have ten.
const MOST_WORDS: usize = 12;

/// Reads what a line says, if it says anything.
fn read(line: &Line<'_>, row: &mut Row) -> Result<(), ParseError> {
    let mut words = [""; MOST_WORDS];
    let mut count = 0;
    for (slot, word) in words.iter_mut().zip(line.words()) {
        *slot = word;
        count += 1;
    }
    let words = &words[..count];
    let time =
        |word: &&str| with_suffix(word).and_then(|(value, unit)| Some(value * nanoseconds(unit)?));
    let time = |word: &&str| line.need(time(word), word, "a time like `1.23ms`");
    match words {
        ["Latency", mean, deviation, max, _] => {
            let mean = time(mean)?;
            row.set(LATENCY, mean, Bounds::around(mean, time(deviation)?));
            row.set(MAX_LATENCY, time(max)?, Bounds::NONE);
        }
        ["Requests/sec:", rate] => {
            let rate = line.need(scaled(rate, prefix), rate, "a finite number")?;
            row.set(THROUGHPUT, rate, Bounds::NONE);
        }
        ["Transfer/sec:", rate] => {
            // wrk counts 1024 to a kilobyte.
            let unit = |unit: &str| match unit {
                "KB" => bytes("KiB"),
                "MB" => bytes("MiB"),
                "GB" => bytes("GiB"),
                "TB" => bytes("TiB"),
                other => bytes(other),
            };
            let rate = line.need(scaled(rate, unit), rate, "a rate like `1.23MB`")?;
            row.set(BANDWIDTH, rate, Bounds::NONE);
        }
        ["Socket", "errors:", ..] => socket_errors(line, words, row)?,
        ["Non-2xx", "or", "3xx", "responses:", count] => {
            let count = line.need(scaled(count, prefix), count, "a count")?;
            row.set("error-responses", count, Bounds::NONE);
        }
        [percent, latency] if line.text.starts_with(' ') => {
            if let Some(percentile) = percent.strip_suffix('%') {
                row.set(quantile(percentile), time(latency)?, Bounds::NONE);
            }
        }
        _ => {}
    }
    Ok(())
}

/// `Socket errors: connect 0, read 1, write 2, timeout 3`
fn socket_errors(line: &Line<'_>, words: &[&str], row: &mut Row) -> Result<(), ParseError> {
    let counts = words
        .iter()
        .skip(2)
        .filter_map(|word| word.trim_end_matches(',').parse().ok());
    let sum: u64 = counts.fold(0, u64::saturating_add);
    let sum = u32::try_from(sum).ok().map(f64::from);
    let sum = line.need(sum, line.text.trim_start(), "counts of errors")?;
    row.set("socket-errors", sum, Bounds::NONE);
    Ok(())
}

/// wrk prints these four; others are made by its scripts.
fn quantile(percentile: &str) -> Cow<'static, str> {
    match percentile {
        "50" => "p50-latency".into(),
        "75" => "p75-latency".into(),
        "90" => "p90-latency".into(),
        "99" => "p99-latency".into(),
        other => format!("p{other}-latency").into(),
    }
}

fn scaled(word: &str, factor: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let (value, unit) = with_suffix(word)?;
    Some(value * factor(unit)?)
}

#[cfg(test)]
mod tests;
