//! What the counters of Valgrind's tools are called here.

use std::borrow::Cow;

use crate::adapters::sheet::{Bounds, Row};

/// The counters of one benchmark: several tools may count the same thing.
#[derive(Default)]
pub(super) struct Counters {
    row: Row,
    taken: Vec<String>,
}

impl Counters {
    /// The tool that comes first has the plain name; the others put theirs before it.
    pub(super) fn set(&mut self, tool: &str, measure: Cow<'_, str>, value: f64) {
        let mut measure = measure.into_owned();
        if self.taken.contains(&measure) && !tool.is_empty() {
            measure = format!("{}-{measure}", tool.to_lowercase());
        }
        self.taken.push(measure.clone());
        self.row.set(measure, value, Bounds::NONE);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    pub(super) fn into_row(self) -> Row {
        self.row
    }
}

/// `Total read+write` becomes `total-read-write`.
pub(super) fn of_title(title: &str) -> String {
    let mut slug = String::with_capacity(title.len());
    for c in title.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

/// `SuppressedErrors` becomes `suppressed-errors`; some identifiers have titles that differ from them.
pub(super) fn of_identifier(identifier: &str) -> Cow<'_, str> {
    let title = match identifier {
        "Ir" => "instructions",
        "L1hits" => "l1-hits",
        "LLhits" => "ll-hits",
        "LLHitRate" => "ll-hit-rate",
        "LLMissRate" => "ll-miss-rate",
        "TotalRW" => "total-read-write",
        "AtTGmaxBytes" => "at-t-gmax-bytes",
        "AtTGmaxBlocks" => "at-t-gmax-blocks",
        "AtTEndBytes" => "at-t-end-bytes",
        "AtTEndBlocks" => "at-t-end-blocks",
        _ => return kebab(identifier).into(),
    };
    title.into()
}

fn kebab(identifier: &str) -> String {
    let mut kebab = String::with_capacity(identifier.len() + 4);
    let mut before_is_small = false;
    for c in identifier.chars() {
        if c.is_ascii_uppercase() && before_is_small {
            kebab.push('-');
        }
        before_is_small = !c.is_ascii_uppercase();
        kebab.push(c.to_ascii_lowercase());
    }
    kebab
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_identifiers_of_a_counter_agree() {
        for (title, identifier) in [
            ("Instructions", "Ir"),
            ("L1 Hits", "L1hits"),
            ("RAM Hits", "RamHits"),
            ("Total read+write", "TotalRW"),
            ("Estimated Cycles", "EstimatedCycles"),
            ("At t-gmax bytes", "AtTGmaxBytes"),
            ("Suppressed Errors", "SuppressedErrors"),
            ("L1 Hit Rate", "L1HitRate"),
            ("LL Hit Rate", "LLHitRate"),
        ] {
            assert_eq!(of_title(title), of_identifier(identifier), "{title}");
        }
    }
}
