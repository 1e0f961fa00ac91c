//! `kiln compare`.

use kiln_client::Comparing;
use kiln_model::v0::{CompareLine, CompareReport};

use super::Context;
use super::connection::Connection;
use super::table;
use crate::cli::numbers::Compare;
use crate::failure::{Exit, Failure};
use crate::report::percent;
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

/// A table, and below it what the verdicts mean.
pub(super) fn print(terminal: &Terminal, compared: &CompareReport) -> Result<(), Failure> {
    if compared.results.is_empty() {
        return terminal
            .data("Both have been measured, but never the same benchmark on the same testbed.");
    }
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
    Ok(())
}

fn is_slower(line: &CompareLine) -> bool {
    line.verdict == "slower"
}

fn row(line: &CompareLine) -> [String; 7] {
    let between = match (line.low, line.high) {
        (Some(low), Some(high)) => format!("{} … {}", percent(low), percent(high)),
        _ => "-".to_owned(),
    };
    let times = |count: usize| format!("{count}×");
    [
        line.benchmark.clone(),
        line.measure.clone(),
        times(line.base_count),
        times(line.head_count),
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
            "effect": 0.2, "low": 0.15, "high": 0.25, "detectable": 0.04, "verdict": "slower"
        }))
        .unwrap();
        assert!(is_slower(&line));
        assert_eq!(
            row(&line),
            [
                "sort",
                "latency",
                "5×",
                "6×",
                "+20.0%",
                "+15.0% … +25.0%",
                "slower"
            ]
        );
        "cannot_tell".clone_into(&mut line.verdict);
        assert_eq!(verdict(&line), "cannot tell (would see 4.0%)");
    }
}
