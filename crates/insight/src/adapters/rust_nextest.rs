//! How long tests took under nextest: its text, its `libtest-json`, or its `JUnit` report. Tests that did not pass have no time worth
//! keeping.

use serde::Deserialize;

use super::document::Fault;
use super::lines::{Line, lines};
use super::number::float;
use super::sheet::{Bounds, Row, Sheet};
use super::xml::{Kind, Tag, tags};
use crate::measure::LATENCY;
use crate::{ParseError, Results};

const EXPECTED: &str =
    "a line like `PASS [   0.123s] package module::test`, JSON of libtest, or a JUnit report";

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    match text.trim_start().chars().next() {
        Some('<') => junit(text),
        Some('{') => libtest(text),
        _ => console(text),
    }
}

fn console(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    // The summary may repeat what was said before.
    let mut is_summary = false;
    for line in lines(text) {
        let said = line.text.trim_start();
        if said.starts_with("Summary [") {
            is_summary = true;
        } else if said.starts_with("Starting ") {
            is_summary = false;
        }
        let Some(rest) = passed(said).filter(|_| !is_summary) else {
            continue;
        };
        let seconds = rest
            .split_once("s]")
            .and_then(|(seconds, _)| float(seconds.trim()));
        let seconds = line.need(seconds, rest, "a time like `[   0.123s]`")?;
        let name = rest.split_once("s]").map_or("", |(_, name)| name.trim());
        sheet.add(&line, without_count(name), row(seconds))?;
    }
    sheet.finish(EXPECTED)
}

fn passed(said: &str) -> Option<&str> {
    let status = ["PASS [", "LEAK [", "SETUP PASS ["];
    status.iter().find_map(|status| said.strip_prefix(status))
}

/// `(12/345) package test` without the count.
fn without_count(name: &str) -> &str {
    let counted = name
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(") "));
    match counted {
        Some((count, name)) if count.contains('/') => name.trim(),
        _ => name,
    }
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "event")]
    outcome: String,
    name: Option<String>,
    exec_time: Option<f64>,
}

fn libtest(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    for line in lines(text) {
        if line.text.trim().is_empty() {
            continue;
        }
        let event: Event =
            serde_json::from_str(line.text).map_err(|error| on_line(&line, &error))?;
        if event.kind == "test"
            && event.outcome == "ok"
            && let (Some(name), Some(seconds)) = (event.name, event.exec_time)
        {
            sheet.add(&line, &name, row(seconds))?;
        }
    }
    sheet.finish(EXPECTED)
}

fn on_line(line: &Line<'_>, error: &serde_json::Error) -> ParseError {
    let found = Fault::of(line.text, error);
    ParseError::Malformed {
        line: line.number,
        column: found.column,
        reason: found.reason,
    }
}

fn junit(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    let mut open: Option<Tag<'_>> = None;
    for tag in tags(text) {
        let tag = tag?;
        match (tag.name, tag.kind) {
            ("testcase", Kind::Empty) => add(&mut sheet, text, &tag)?,
            ("testcase", Kind::Start) => open = Some(tag),
            ("failure" | "error" | "skipped", _) => open = None,
            ("testcase", Kind::End) => {
                if let Some(test) = open.take() {
                    add(&mut sheet, text, &test)?;
                }
            }
            _ => {}
        }
    }
    sheet.finish(EXPECTED)
}

fn add(sheet: &mut Sheet<'_>, text: &str, test: &Tag<'_>) -> Result<(), ParseError> {
    let seconds = test.number(text, "time")?;
    let name = test.need(text, "name")?;
    let name = match test.attribute("classname") {
        Some(class) => format!("{class} {name}"),
        None => name.to_owned(),
    };
    sheet.add(&test.line(text), &name, row(seconds))
}

fn row(seconds: f64) -> Row {
    let mut row = Row::default();
    row.set(LATENCY, seconds * 1e9, Bounds::NONE);
    row
}

#[cfg(test)]
mod tests;
