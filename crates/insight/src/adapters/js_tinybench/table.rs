//! The table that `console.table` draws. The titles of its columns changed with the versions of tinybench.

use crate::adapters::lines::{Line, lines};
use crate::adapters::number::grouped;
use crate::adapters::sheet::{Bounds, Row, Sheet};
use crate::adapters::unit::nanoseconds;
use crate::measure::{LATENCY, THROUGHPUT};
use crate::{Average, ParseError, Results};

pub(super) fn parse(text: &str, average: Average, expected: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    let mut columns: Option<Columns> = None;
    for line in lines(text) {
        let Some(cells) = cut(line.text) else {
            continue;
        };
        if let Some(found) = Columns::read(&line, &cells, average)? {
            columns = Some(found);
        } else if let Some(columns) = &columns {
            let name = cells.get(columns.name).copied().unwrap_or_default();
            let row = columns.row(&line, &cells)?;
            sheet.add(&line, name, row)?;
        }
    }
    sheet.finish(expected)
}

fn cut(line: &str) -> Option<Vec<&str>> {
    let inside = line.trim().strip_prefix('│')?.strip_suffix('│')?;
    Some(inside.split('│').map(|cell| unquote(cell.trim())).collect())
}

/// Strings are in quotes, numbers are not.
fn unquote(cell: &str) -> &str {
    let inside = |quote: char| cell.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"')).unwrap_or(cell)
}

/// Where the columns that matter are.
struct Columns {
    name: usize,
    latency: usize,
    /// How many nanoseconds the unit of the latency has.
    factor: f64,
    throughput: Option<usize>,
}

impl Columns {
    fn read(
        line: &Line<'_>,
        titles: &[&str],
        average: Average,
    ) -> Result<Option<Self>, ParseError> {
        let find = |starts: &[&str]| {
            titles.iter().position(|title| {
                let title = title.to_ascii_lowercase();
                starts.iter().any(|start| title.starts_with(start))
            })
        };
        let Some(name) = find(&["task name"]) else {
            return Ok(None);
        };
        let (latency, throughput) = match average {
            Average::Mean => (
                find(&["latency avg", "latency average", "average time"]),
                find(&["throughput avg", "throughput average", "ops/sec"]),
            ),
            Average::Median => (find(&["latency med"]), find(&["throughput med"])),
        };
        let head = line.text;
        let latency = line.need(latency, head, "a column `Latency avg` or `Latency med`")?;
        let title = titles[latency];
        let unit = title
            .split_once('(')
            .and_then(|(_, rest)| rest.strip_suffix(')'));
        let factor = line.need(
            unit.and_then(nanoseconds),
            title,
            "a unit of time in parentheses",
        )?;
        Ok(Some(Self {
            name,
            latency,
            factor,
            throughput,
        }))
    }

    fn row(&self, line: &Line<'_>, cells: &[&str]) -> Result<Row, ParseError> {
        let cell = |index: usize| cells.get(index).copied().unwrap_or_default();
        let mut row = Row::default();
        let latency = cell(self.latency);
        let (value, spread) = line.need(number(latency), latency, "a number like `12.3 ± 4.5%`")?;
        let spread = spread.map(|spread| spread * self.factor);
        row.set(
            LATENCY,
            value * self.factor,
            Bounds::around_if(value * self.factor, spread),
        );
        if let Some(index) = self.throughput {
            let rate = cell(index);
            let (value, spread) = line.need(number(rate), rate, "a number like `12.3 ± 4.5%`")?;
            row.set(THROUGHPUT, value, Bounds::around_if(value, spread));
        }
        Ok(row)
    }
}

/// `12.3 ± 4.5%`, `12.3 ± 0.5` or a number alone.
fn number(cell: &str) -> Option<(f64, Option<f64>)> {
    let Some((value, spread)) = cell.split_once('±') else {
        return Some((grouped(cell)?, None));
    };
    let value = grouped(value.trim())?;
    let spread = spread.trim();
    let spread = match spread.strip_suffix('%') {
        Some(percent) => value * grouped(percent)? / 100.0,
        None => grouped(spread)?,
    };
    Some((value, Some(spread)))
}
