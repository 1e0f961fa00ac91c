//! The text: `module::group::function id:(details)`, and below it `Title:  NEW|OLD  (change)` for each counter.

use super::counter::{Counters, of_title};
use crate::ParseError;
use crate::adapters::lines::{Line, lines};
use crate::adapters::number::grouped;
use crate::adapters::sheet::Sheet;

pub(super) fn read(text: &str, sheet: &mut Sheet<'_>) -> Result<(), ParseError> {
    let mut current: Option<(Line<'_>, Counters)> = None;
    let mut tool = "";
    for line in lines(text) {
        if is_name(line.text) {
            finish(sheet, current.take())?;
            current = Some((line, Counters::default()));
            tool = "";
        } else if let Some(title) = section(line.text) {
            tool = title;
        } else if let Some((_, counters)) = &mut current
            && let Some((title, values)) = cut(line.text)
            && let Some(new) = newest(&line, values)?
        {
            counters.set(tool, of_title(title).into(), new);
        }
    }
    finish(sheet, current)
}

fn finish(sheet: &mut Sheet<'_>, done: Option<(Line<'_>, Counters)>) -> Result<(), ParseError> {
    match done {
        Some((line, counters)) if !counters.is_empty() => {
            sheet.add(&line, &name(line.text), counters.into_row())
        }
        _ => Ok(()),
    }
}

/// A path at the beginning of a line, with an id behind it where there are several.
fn is_name(line: &str) -> bool {
    let path = line.split(' ').next().unwrap_or_default();
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    path.contains("::") && path.chars().all(is_path)
}

/// The details behind the id are the arguments, and may be long.
fn name(line: &str) -> String {
    let line = line.trim_end();
    match line.split_once(' ') {
        None => line.to_owned(),
        Some((path, rest)) => {
            let id = rest.split(':').next().unwrap_or_default().trim();
            format!("{path} {id}").trim_end().to_owned()
        }
    }
}

/// `======= DHAT =======`
fn section(line: &str) -> Option<&str> {
    let title = line
        .trim()
        .strip_prefix("=======")?
        .trim_matches('=')
        .trim();
    (!title.is_empty()).then_some(title)
}

fn cut(line: &str) -> Option<(&str, &str)> {
    let (title, values) = line.strip_prefix("  ")?.split_once(':')?;
    let values = values.split_whitespace().next()?;
    values.contains('|').then_some((title.trim(), values))
}

/// The number before the bar; nothing when only an older run has one.
fn newest(line: &Line<'_>, values: &str) -> Result<Option<f64>, ParseError> {
    let new = values.split('|').next().unwrap_or_default();
    if new == "N/A" || new.is_empty() {
        return Ok(None);
    }
    line.need(grouped(new), new, "a counter like `1234|N/A`")
        .map(Some)
}
