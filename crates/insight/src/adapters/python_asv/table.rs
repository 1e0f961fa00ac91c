//! The table of a benchmark with parameters. The last parameter may run to the right, under a heading with its name.

use crate::ParseError;
use crate::adapters::lines::Line;

pub(super) struct Table<'a> {
    /// The values of the parameter that runs to the right; empty when all run down.
    right: Vec<&'a str>,
    rows: Vec<(Line<'a>, Vec<&'a str>)>,
    /// How many columns hold parameters.
    parameters: usize,
}

pub(super) struct Cell<'a> {
    pub(super) line: Line<'a>,
    pub(super) text: &'a str,
}

impl<'a> Table<'a> {
    /// Reads from the line with the upper rule on.
    pub(super) fn read(
        first: Line<'a>,
        lines: &mut impl Iterator<Item = Line<'a>>,
    ) -> Result<Self, ParseError> {
        let rule = columns(first.text);
        let mut head = Vec::new();
        let mut rows = Vec::new();
        let mut is_body = false;
        for line in lines {
            let start = line.text.trim_start();
            if start.starts_with("==") && is_body {
                return Ok(Self::new(&head, rows, rule.len()));
            }
            if start.starts_with("==")
                || (start.starts_with("--") && columns(line.text).len() == rule.len())
            {
                is_body = true;
            } else if is_body {
                rows.push((line, cut(line.text, &rule)));
            } else {
                head.push(cut(line.text, &rule));
            }
        }
        Err(first.error(first.text, "expected the end of the table, a line of `=`"))
    }

    fn new(head: &[Vec<&'a str>], rows: Vec<(Line<'a>, Vec<&'a str>)>, columns: usize) -> Self {
        // A heading over several columns makes three lines: `--  n`, a rule, and the values of n.
        let runs_right = head.len() > 1;
        let names = head.last().map(Vec::as_slice).unwrap_or_default();
        let parameters = if runs_right {
            let heading = head.first().map(Vec::as_slice).unwrap_or_default();
            heading.iter().take_while(|cell| **cell == "--").count()
        } else {
            columns.saturating_sub(1)
        };
        let right = if runs_right {
            names.iter().skip(parameters).copied().collect()
        } else {
            Vec::new()
        };
        Self {
            right,
            rows,
            parameters,
        }
    }

    /// Every value, with the parameters it was measured with.
    pub(super) fn cells(&self) -> impl Iterator<Item = (String, Cell<'a>)> + '_ {
        self.rows.iter().flat_map(move |(line, cells)| {
            let (down, values) = cells.split_at(self.parameters.min(cells.len()));
            values.iter().enumerate().map(move |(index, text)| {
                let right = self.right.get(index).copied();
                let parameters: Vec<&str> = down.iter().copied().chain(right).collect();
                (parameters.join(", "), Cell { line: *line, text })
            })
        })
    }
}

/// Where the columns of a rule begin and end, in characters.
fn columns(rule: &str) -> Vec<(usize, usize)> {
    let mut columns = Vec::new();
    let mut start = None;
    let is_rule = |c: char| matches!(c, '=' | '-');
    for (index, c) in rule.chars().chain([' ']).enumerate() {
        match start {
            None if is_rule(c) => start = Some(index),
            Some(from) if !is_rule(c) => {
                columns.push((from, index));
                start = None;
            }
            _ => {}
        }
    }
    columns
}

/// The cells of a line, by the columns of the rule; the last takes what is left.
fn cut<'a>(line: &'a str, columns: &[(usize, usize)]) -> Vec<&'a str> {
    let byte = |character: usize| {
        line.char_indices()
            .nth(character)
            .map_or(line.len(), |(byte, _)| byte)
    };
    columns
        .iter()
        .enumerate()
        .map(|(index, (start, end))| {
            let is_last = index + 1 == columns.len();
            let end = if is_last { line.len() } else { byte(*end) };
            line[byte(*start)..end].trim()
        })
        .collect()
}
