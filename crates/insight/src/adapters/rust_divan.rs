//! divan's tree of benchmarks, with columns for the fastest, the slowest, the median and the mean.

mod tree;

use super::lines::{Line, lines};
use super::number::float;
use super::sheet::{Bounds, Row, Sheet};
use super::unit::{bytes, nanoseconds, prefix};
use crate::measure::{ALLOCATED, ALLOCATIONS, BANDWIDTH, ITEMS_PER_SECOND, LATENCY};
use crate::{Average, ParseError, Results};
use tree::{Entry, Header, Path};

const EXPECTED: &str =
    "a head like `NAME  fastest │ slowest │ median │ mean │ samples │ iters`, and times below it";

pub(crate) fn parse(text: &str, average: Average) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    let mut header: Option<Header<'_>> = None;
    let mut path = Path::default();
    let mut current: Option<Benchmark<'_>> = None;
    for line in lines(text) {
        if let Some(found) = Header::read(line.text) {
            finish(&mut sheet, current.take())?;
            path = Path::of(found.name);
            header = Some(found);
            continue;
        }
        let Some(header) = &header else {
            continue;
        };
        match header.entry(line.text) {
            Some(Entry::Named { depth, name, cells }) => {
                finish(&mut sheet, current.take())?;
                path.enter(depth, name);
                if let Some(cells) = cells {
                    let mut benchmark = Benchmark::new(line, path.to_string(), average);
                    benchmark.time(&cells)?;
                    current = Some(benchmark);
                }
            }
            Some(Entry::Continued { cells }) => {
                if let Some(benchmark) = &mut current {
                    benchmark.detail(&line, &cells)?;
                }
            }
            None => {}
        }
    }
    finish(&mut sheet, current)?;
    sheet.finish(EXPECTED)
}

fn finish(sheet: &mut Sheet<'_>, done: Option<Benchmark<'_>>) -> Result<(), ParseError> {
    match done {
        Some(done) => sheet.add(&done.line, &done.name, done.row),
        None => Ok(()),
    }
}

struct Benchmark<'a> {
    line: Line<'a>,
    name: String,
    average: Average,
    row: Row,
    /// The measures of the two lines, count and size, that follow a title like `alloc:`.
    allocation: Option<(&'static str, &'static str)>,
}

impl<'a> Benchmark<'a> {
    fn new(line: Line<'a>, name: String, average: Average) -> Self {
        Self {
            line,
            name,
            average,
            row: Row::default(),
            allocation: None,
        }
    }

    fn time(&mut self, cells: &[&str]) -> Result<(), ParseError> {
        let line = self.line;
        self.set(&line, cells, LATENCY, nanoseconds, "a time like `1.23 ns`")
    }

    /// A line below the times: a rate, a title, or numbers below a title.
    fn detail(&mut self, line: &Line<'_>, cells: &[&str]) -> Result<(), ParseError> {
        let first = cells.first().copied().unwrap_or_default();
        if let Some(title) = first.strip_suffix(':') {
            self.allocation = allocation(title);
            return Ok(());
        }
        let unit = first.split_once(' ').map_or("", |(_, unit)| unit);
        if let Some((count, size)) = self.allocation {
            if unit.is_empty() {
                return self.set(line, cells, count, prefix, "a count");
            }
            return self.set(line, cells, size, bytes, "a size like `1.23 KB`");
        }
        if unit.ends_with("item/s") {
            let items = |unit: &str| prefix(unit.strip_suffix("item/s")?);
            self.set(
                line,
                cells,
                ITEMS_PER_SECOND,
                items,
                "a rate like `1.23 Mitem/s`",
            )
        } else if unit.ends_with("char/s") {
            let characters = |unit: &str| prefix(unit.strip_suffix("char/s")?);
            self.set(
                line,
                cells,
                "chars/s",
                characters,
                "a rate like `1.23 Mchar/s`",
            )
        } else if unit.ends_with("Hz") {
            let cycles = |unit: &str| prefix(unit.strip_suffix("Hz")?);
            self.set(line, cells, "cycles/s", cycles, "a rate like `1.23 MHz`")
        } else if unit.ends_with("B/s") {
            let sizes = |unit: &str| bytes(unit.strip_suffix("/s")?);
            self.set(line, cells, BANDWIDTH, sizes, "a rate like `1.23 GB/s`")
        } else {
            Ok(())
        }
    }

    fn set(
        &mut self,
        line: &Line<'_>,
        cells: &[&str],
        measure: &'static str,
        unit: fn(&str) -> Option<f64>,
        expected: &str,
    ) -> Result<(), ParseError> {
        let mut numbers = [0.0; 4];
        for (index, number) in numbers.iter_mut().enumerate() {
            let cell = cells.get(index).copied().unwrap_or_default();
            let (value, suffix) = cell.split_once(' ').unwrap_or((cell, ""));
            let parts = float(value).zip(unit(suffix));
            let (value, factor) = line.need(parts, cell, expected)?;
            *number = value * factor;
        }
        let [fastest, slowest, median, mean] = numbers;
        let value = match self.average {
            Average::Mean => mean,
            Average::Median => median,
        };
        let bounds = Bounds::between(fastest.min(slowest), fastest.max(slowest));
        self.row.set(measure, value, bounds);
        Ok(())
    }
}

fn allocation(title: &str) -> Option<(&'static str, &'static str)> {
    Some(match title {
        "alloc" => (ALLOCATIONS, ALLOCATED),
        "max alloc" => ("max-allocations", "max-allocated"),
        "dealloc" => ("deallocations", "deallocated"),
        "grow" => ("grows", "grown"),
        "shrink" => ("shrinks", "shrunk"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
