//! `kiln compare`.

use kiln_client::Comparing;
use kiln_model::v0::{CompareLine, CompareReport, NotCompared};

use super::Context;
use super::connection::Connection;
use super::table;
use crate::cli::numbers::Compare;
use crate::failure::{Exit, Failure};
use crate::report::{percent, quantity};
use crate::terminal::Terminal;

pub(super) fn run(context: &Context<'_>, command: &Compare) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    let comparing = Comparing {
        base: &command.base,
        head: &command.head,
        gate: command.gate,
        confidence: command.confidence,
    };
    let compared = server.call(server.client.compare(&command.project.project, comparing))?;
    if command.project.access.json.json {
        context.terminal.json(&compared)?;
    } else {
        print(context.terminal, &compared)?;
    }
    let slower = compared.results.iter().filter(|line| is_slower(line));
    let slower = slower.count();
    if command.error_on_slower && slower > 0 {
        return Err(Failure::new(
            Exit::Alerts,
            format!("{slower} of {} are slower", compared.results.len()),
        ));
    }
    Ok(Exit::Ok)
}

/// What is left out is named up to this many times for each reason.
const MAX_NAMED: usize = 5;

/// A table, and below it what the verdicts mean and what is not in it.
pub(super) fn print(terminal: &Terminal, compared: &CompareReport) -> Result<(), Failure> {
    if compared.results.is_empty() {
        terminal
            .data("Both have been measured, but never the same benchmark on the same testbed.")?;
    } else {
        let rows: Vec<[String; 7]> = compared.results.iter().map(row).collect();
        let names = [
            "benchmark",
            "measure",
            "base",
            "head",
            "difference",
            "between",
            "verdict",
        ];
        table::print(terminal, names, &rows)?;
        terminal.note(&format!(
            "Differences below {} do not matter here (--gate).",
            percent(compared.gate).trim_start_matches('+')
        ));
    }
    for (reason, words) in [
        ("only_base", "Only the base has"),
        ("only_head", "Only the head has"),
        ("not_positive", "Not above zero, and so without a ratio:"),
    ] {
        let found = compared.left_out.iter().filter(|one| one.reason == reason);
        if let Some(names) = named(found) {
            terminal.note(&format!("{words} {names}."));
        }
    }
    Ok(())
}

/// The first few, and how many more there are.
fn named<'a>(found: impl Iterator<Item = &'a NotCompared>) -> Option<String> {
    let names = found.map(|one| format!("{} ({})", one.benchmark, one.measure));
    let names: Vec<String> = names.collect();
    let shown = names.get(..MAX_NAMED).unwrap_or(&names).join(", ");
    match names.len() {
        0 => None,
        count if count > MAX_NAMED => Some(format!("{shown} and {} more", count - MAX_NAMED)),
        _ => Some(shown),
    }
}

fn is_slower(line: &CompareLine) -> bool {
    line.verdict == "slower"
}

fn row(line: &CompareLine) -> [String; 7] {
    let between = match (line.low, line.high) {
        (Some(low), Some(high)) => format!("{} … {}", percent(low), percent(high)),
        _ => "-".to_owned(),
    };
    let side = |value: f64, count: usize| format!("{} ({count}×)", quantity(value, &line.units));
    [
        line.benchmark.clone(),
        line.measure.clone(),
        side(line.base_value, line.base_count),
        side(line.head_value, line.head_count),
        percent(line.effect),
        between,
        verdict(line),
    ]
}

/// What cannot be told says what could have been.
fn verdict(line: &CompareLine) -> String {
    match (line.verdict.as_str(), line.detectable) {
        ("cannot_tell", Some(least)) => format!(
            "cannot tell (would see {})",
            percent(least).trim_start_matches('+')
        ),
        ("cannot_tell", None) => "cannot tell (too few results)".to_owned(),
        (verdict, _) => verdict.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_by_how_much_and_how_sure() {
        let mut line: CompareLine = serde_json::from_value(serde_json::json!({
            "testbed": "01a1de46-fdae-7a03-a2b6-b59b8818a183", "benchmark": "sort",
            "measure": "latency", "units": "nanoseconds (ns)", "base_count": 5, "head_count": 6,
            "base_value": 1e6, "head_value": 1.2e6, "effect": 0.2, "low": 0.15, "high": 0.25, "detectable": 0.04, "verdict": "slower"
        }))
        .unwrap();
        assert!(is_slower(&line));
        assert_eq!(
            row(&line),
            [
                "sort",
                "latency",
                "1 ms (5×)",
                "1.200 ms (6×)",
                "+20.0%",
                "+15.0% … +25.0%",
                "slower"
            ]
        );
        "cannot_tell".clone_into(&mut line.verdict);
        assert_eq!(verdict(&line), "cannot tell (would see 4.0%)");
    }

    #[test]
    fn what_is_left_out_is_named_and_counted() {
        let one = |benchmark: &str| NotCompared {
            testbed: "01a1de46-fdae-7a03-a2b6-b59b8818a183".parse().unwrap(),
            benchmark: benchmark.to_owned(),
            measure: "latency".to_owned(),
            reason: "only_base".to_owned(),
        };
        assert_eq!(named(std::iter::empty()), None);
        assert_eq!(named([one("a")].iter()).unwrap(), "a (latency)");
        let many = ["a", "b", "c", "d", "e", "f", "g"].map(one);
        assert!(
            named(many.iter())
                .unwrap()
                .ends_with("e (latency) and 2 more")
        );
    }
}
