//! The tree that divan draws: three characters for each level, and columns that begin where the head says.

use std::fmt;

pub(super) struct Header<'a> {
    pub(super) name: &'a str,
    /// Where the column of the fastest begins, in characters; the names are left of it.
    values: usize,
}

pub(super) enum Entry<'a> {
    /// A group, which has no cells, or a benchmark.
    Named {
        depth: usize,
        name: &'a str,
        cells: Option<Vec<&'a str>>,
    },
    /// More about the benchmark above.
    Continued { cells: Vec<&'a str> },
}

/// From the root to where we are.
#[derive(Default)]
pub(super) struct Path<'a> {
    parts: Vec<&'a str>,
}

const SEPARATOR: char = '│';
const LEVEL: usize = 3;

impl<'a> Header<'a> {
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let (first, rest) = line.split_once(SEPARATOR)?;
        let (name, _) = first.split_once("fastest")?;
        let titles: Vec<&str> = rest.split(SEPARATOR).map(str::trim).collect();
        if !titles.starts_with(&["slowest", "median", "mean"]) {
            return None;
        }
        Some(Self {
            name: name.trim(),
            values: name.chars().count(),
        })
    }

    /// What a line of the tree says; nothing when it is none.
    pub(super) fn entry(&self, line: &'a str) -> Option<Entry<'a>> {
        let split = line
            .char_indices()
            .nth(self.values)
            .map_or(line.len(), |(byte, _)| byte);
        let (left, values) = line.split_at(split);
        let cells = || values.split(SEPARATOR).map(str::trim).collect::<Vec<_>>();
        let Some(branch) = left.find(['├', '╰']) else {
            let is_drawing = left.chars().all(|c| matches!(c, SEPARATOR | ' '));
            let cells = cells();
            let says_something = cells.iter().any(|cell| !cell.is_empty());
            return (is_drawing && says_something).then_some(Entry::Continued { cells });
        };
        let depth = left[..branch].chars().count() / LEVEL;
        let name = left[branch..]
            .trim_start_matches(['├', '╰', '─', ' '])
            .trim_end();
        let cells = cells();
        let is_measured = cells
            .first()
            .is_some_and(|cell| cell.starts_with(|c: char| c.is_ascii_digit()));
        Some(Entry::Named {
            depth,
            name,
            cells: is_measured.then_some(cells),
        })
    }
}

impl<'a> Path<'a> {
    pub(super) fn of(root: &'a str) -> Self {
        Self { parts: vec![root] }
    }

    pub(super) fn enter(&mut self, depth: usize, name: &'a str) {
        self.parts.truncate(depth + 1);
        self.parts.push(name);
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts.join("::"))
    }
}
