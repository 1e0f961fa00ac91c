//! Ruby's `Benchmark.bm` and `bmbm`: a table `LABEL user system total ( real)`, in seconds.

use super::lines::lines;
use super::number::float;
use super::sheet::{Bounds, Row, Sheet};
use crate::measure::{CPU_TIME, LATENCY, SYSTEM_TIME, USER_TIME};
use crate::{ParseError, Results};

const EXPECTED: &str = "a line like `LABEL  0.1 0.0 0.1 (  0.123)`";

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    let mut is_rehearsal = false;
    for line in lines(text) {
        if line.text.starts_with("Rehearsal ---") {
            is_rehearsal = true;
        } else if line.text.starts_with("---") && line.text.contains(" total: ") {
            is_rehearsal = false;
        }
        let Some((label, times)) = cut(line.text) else {
            continue;
        };
        let [user, system, total, real] =
            line.need(times, line.text, "four finite numbers of seconds")?;
        if is_rehearsal {
            continue;
        }
        let mut row = Row::default();
        row.set(LATENCY, real * 1e9, Bounds::NONE);
        row.set(USER_TIME, user * 1e9, Bounds::NONE);
        row.set(SYSTEM_TIME, system * 1e9, Bounds::NONE);
        row.set(CPU_TIME, total * 1e9, Bounds::NONE);
        sheet.add(&line, label, row)?;
    }
    sheet.finish(EXPECTED)
}

/// The label, and the times if they are numbers.
fn cut(line: &str) -> Option<(&str, Option<[f64; 4]>)> {
    let (rest, real) = line.trim_end().strip_suffix(')')?.rsplit_once('(')?;
    let mut rest = rest.trim_end();
    let mut times = [None; 4];
    times[3] = float(real.trim());
    for time in times[..3].iter_mut().rev() {
        let (before, word) = rest.rsplit_once(char::is_whitespace).unwrap_or(("", rest));
        *time = float(word);
        rest = before.trim_end();
    }
    // Text in parentheses is no row of the table, unless it looks like one in most columns.
    let numbers = times.iter().flatten().count();
    (numbers >= 3).then(|| {
        let all = times.iter().copied().collect::<Option<Vec<f64>>>();
        (rest.trim(), all.and_then(|all| all.try_into().ok()))
    })
}

#[cfg(test)]
mod tests;
