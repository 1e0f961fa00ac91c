//! The XML reporter: `<BenchmarkResults name="…">` with `<mean>` and `<standardDeviation>` in it, in nanoseconds.

use super::{EXPECTED, Estimates};
use crate::adapters::sheet::Sheet;
use crate::adapters::xml::{Kind, Tag, tags};
use crate::{ParseError, Results};

pub(super) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    let mut current: Option<Tag<'_>> = None;
    let mut mean = None;
    for tag in tags(text) {
        let tag = tag?;
        match (tag.name, tag.kind) {
            ("BenchmarkResults", Kind::Start) => {
                current = Some(tag);
                mean = None;
            }
            ("mean", Kind::Empty | Kind::Start) if current.is_some() => {
                mean = Some(interval(text, &tag)?);
            }
            ("standardDeviation", Kind::Empty | Kind::Start) => {
                if let (Some(results), Some(mean)) = (&current, mean) {
                    let deviation = interval(text, &tag)?;
                    let row = Estimates { mean, deviation }.row();
                    sheet.add(&results.line(text), results.need(text, "name")?, row)?;
                    current = None;
                }
            }
            ("BenchmarkResults", Kind::End) => {
                if let Some(results) = current.take() {
                    return Err(
                        results.error(text, "expected <mean> and <standardDeviation> in this")
                    );
                }
            }
            ("failed", Kind::Empty | Kind::Start) => current = None,
            _ => {}
        }
    }
    sheet.finish(EXPECTED)
}

fn interval(text: &str, tag: &Tag<'_>) -> Result<[f64; 3], ParseError> {
    Ok([
        tag.number(text, "value")?,
        tag.number(text, "lowerBound")?,
        tag.number(text, "upperBound")?,
    ])
}
