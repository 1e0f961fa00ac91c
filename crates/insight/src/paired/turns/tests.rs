use super::*;
use crate::{Adapter, Settings, parse};

fn settings() -> TurnsSettings {
    TurnsSettings {
        gate: 0.02,
        error_rate: 0.01,
        measure: None,
    }
}

/// A turn of two benchmarks; `wobble` is noise that differs from turn to turn.
fn turn(turn: usize, head_share: f64) -> Vec<Results> {
    let wobble = [0.0, 0.001, -0.001, 0.002, -0.002][turn % 5];
    let share = if matches!(turn % 4, 1 | 2) {
        head_share
    } else {
        1.0
    };
    let latency = 100.0 * share * (1.0 + wobble);
    let text = format!(
        r#"{{"slow":{{"latency":{{"value":{latency}}},"file-size":{{"value":7}}}},"steady":{{"latency":{{"value":{}}}}}}}"#,
        50.0 * (1.0 + wobble)
    );
    vec![parse(Adapter::Json, &text, Settings::default()).unwrap()]
}

fn after(turns: usize, head_share: f64, settings: TurnsSettings) -> Turns {
    let mut all = Turns::new(settings);
    (0..turns).for_each(|number| all.add(&turn(number, head_share)));
    all
}

fn line(turns: &Turns, benchmark: &str, measure: &str) -> LineReport {
    let found = turns
        .lines()
        .find(|(name, ..)| name.benchmark == benchmark && name.measure == measure);
    found.unwrap().2
}

fn verdict(turns: &Turns, benchmark: &str) -> Verdict {
    match line(turns, benchmark, "latency") {
        LineReport::Compared(report) => report.verdict,
        LineReport::LeftOut(reason) => panic!("{reason}"),
    }
}

#[test]
fn a_slower_head_is_found_and_a_steady_benchmark_stays_the_same() {
    let turns = after(80, 1.1, settings());
    assert!(turns.is_decided());
    assert_eq!(turns.pairs(), 40);
    assert_eq!(verdict(&turns, "slow"), Verdict::Slower);
    assert_eq!(verdict(&turns, "steady"), Verdict::Same);
    assert_eq!(turns.verdict(), Verdict::Slower);
}

#[test]
fn nothing_is_decided_before_there_are_enough_blocks() {
    let turns = after(15, 2.0, settings());
    assert_eq!(turns.pairs(), 6);
    assert!(!turns.is_decided());
    assert_eq!(turns.verdict(), Verdict::CannotTell);
}

#[test]
fn only_latency_decides_unless_another_measure_is_asked_for() {
    let turns = after(8, 1.0, settings());
    let decides: Vec<(&str, bool)> = turns
        .lines()
        .map(|(line, decides, _)| (line.measure.as_str(), decides))
        .collect();
    assert_eq!(
        decides,
        [("file-size", false), ("latency", true), ("latency", true)]
    );
    let asked = TurnsSettings {
        measure: Some("file-size".to_owned()),
        ..settings()
    };
    let turns = after(80, 1.1, asked);
    assert_eq!(turns.verdict(), Verdict::Same);
}

#[test]
fn a_measure_nobody_tells_of_decides_nothing() {
    let asked = TurnsSettings {
        measure: Some("moon-phase".to_owned()),
        ..settings()
    };
    let turns = after(80, 1.1, asked);
    assert!(!turns.is_decided());
    assert_eq!(turns.verdict(), Verdict::CannotTell);
}

#[test]
fn a_benchmark_that_is_missing_once_is_left_out_and_holds_up_nobody() {
    let mut turns = Turns::new(settings());
    for number in 0..80 {
        let mut results = turn(number, 1.1);
        if number == 6 {
            let only = r#"{"steady":{"latency":{"value":50}}}"#;
            results = vec![parse(Adapter::Json, only, Settings::default()).unwrap()];
        }
        turns.add(&results);
    }
    assert_eq!(
        line(&turns, "slow", "latency"),
        LineReport::LeftOut(MISSING)
    );
    assert!(turns.is_decided());
    assert_eq!(turns.verdict(), Verdict::Same);
}

#[test]
fn zero_has_no_ratio() {
    let zero = r#"{"none":{"latency":{"value":0}}}"#;
    let zero = parse(Adapter::Json, zero, Settings::default()).unwrap();
    let mut turns = Turns::new(settings());
    (0..4).for_each(|_| turns.add(std::slice::from_ref(&zero)));
    assert_eq!(
        line(&turns, "none", "latency"),
        LineReport::LeftOut(NOT_POSITIVE)
    );
    assert!(!turns.is_decided());
}

#[test]
fn each_of_two_lines_has_half_the_error_rate_and_so_a_wider_interval() {
    let width = |measure: Option<&str>| {
        let asked = TurnsSettings {
            measure: measure.map(str::to_owned),
            ..settings()
        };
        let turns = after(80, 1.1, asked);
        let LineReport::Compared(report) = line(&turns, "slow", "latency") else {
            panic!("it is in every turn");
        };
        let (low, high) = report.interval.unwrap();
        high - low
    };
    // Two lines of latency decide, or the one of file sizes.
    assert!(width(None) > width(Some("file-size")) * 1.01);
}
