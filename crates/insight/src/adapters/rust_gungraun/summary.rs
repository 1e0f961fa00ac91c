//! Summaries in JSON, of version 6 (`summaries.total.summary.TOOL`, values by side) and 7 (`data.total.metrics`, values by age).

use serde_json::{Map, Value};

use super::counter::{Counters, of_identifier};
use crate::ParseError;
use crate::adapters::document::Fault;
use crate::adapters::position::of_byte;
use crate::adapters::sheet::Sheet;

pub(super) fn read(text: &str, sheet: &mut Sheet<'_>) -> Result<(), ParseError> {
    let mut from = 0;
    while let Some(start) = next_object(text, from) {
        let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match documents.next() {
            Some(Ok(summary)) => add(sheet, text, start, &summary)?,
            Some(Err(error)) => return Err(moved(text, start, &error)),
            None => return Ok(()),
        }
        from = start + documents.byte_offset();
    }
    Ok(())
}

/// The next line that begins with a brace, from the end of the document before on.
fn next_object(text: &str, from: usize) -> Option<usize> {
    let mut start = from;
    for line in text.get(from..)?.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        if line[indent..].starts_with('{') {
            return Some(start + indent);
        }
        start += line.len();
    }
    None
}

fn add(sheet: &mut Sheet<'_>, text: &str, start: usize, summary: &Value) -> Result<(), ParseError> {
    let member = |name: &str| summary.get(name).and_then(Value::as_str);
    let (Some(path), Some(profiles)) = (
        member("module_path"),
        summary.get("profiles").and_then(Value::as_array),
    ) else {
        return Err(error_at(
            text,
            start,
            "expected a summary with `module_path` and `profiles`",
        ));
    };
    let name = match member("id") {
        Some(id) => format!("{path} {id}"),
        None => path.to_owned(),
    };
    let mut counters = Counters::default();
    for profile in profiles {
        let tool = profile
            .get("tool")
            .and_then(Value::as_str)
            .unwrap_or_default();
        for (identifier, metric) in metrics(profile).into_iter().flatten() {
            if let Some(value) = newest(metric) {
                counters.set(tool, of_identifier(identifier), value);
            }
        }
    }
    if counters.is_empty() {
        return Err(error_at(
            text,
            start,
            "expected a summary with metrics of the newest run",
        ));
    }
    sheet.add_named(&name, counters.into_row())
}

fn metrics(profile: &Value) -> Option<&Map<String, Value>> {
    if let Some(data) = profile.get("data") {
        return data.get("total")?.get("metrics")?.as_object();
    }
    let by_tool = profile.get("summaries")?.get("total")?.get("summary")?;
    by_tool.as_object()?.values().next()?.as_object()
}

fn newest(metric: &Value) -> Option<f64> {
    if let Some(values) = metric.get("values") {
        return values.get("new")?.as_f64();
    }
    let sides = metric.get("metrics")?;
    let new = match sides.get("Left") {
        Some(left) => left,
        None => sides.get("Both")?.get(0)?,
    };
    new.get("Int").or_else(|| new.get("Float"))?.as_f64()
}

fn error_at(text: &str, byte: usize, reason: &str) -> ParseError {
    let (line, column) = of_byte(text, byte);
    ParseError::Malformed {
        line,
        column,
        reason: reason.to_owned(),
    }
}

/// An error within a document, in lines of the whole text.
fn moved(text: &str, start: usize, error: &serde_json::Error) -> ParseError {
    let (first_line, first_column) = of_byte(text, start);
    let fault = Fault::of(&text[start..], error);
    let is_first = fault.line <= 1;
    ParseError::Malformed {
        line: first_line + fault.line.saturating_sub(1),
        column: if is_first {
            first_column + fault.column.saturating_sub(1)
        } else {
            fault.column
        },
        reason: fault.reason,
    }
}
