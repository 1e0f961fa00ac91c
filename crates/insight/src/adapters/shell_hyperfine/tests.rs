use super::*;
use crate::Metric;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            r#"{"results": [{"command": "a"}]}"#,
            "line 1, column 29: missing field `mean`",
        ),
        (
            r#"{"results": [{"command": "a", "mean": NaN}]}"#,
            "line 1, column 39: expected a finite number, found `NaN`",
        ),
        (
            "hyperfine",
            "line 1, column 1: expected `{`, an object with the list `results`, and commands in it, found 'h'",
        ),
    ] {
        assert_eq!(
            parse(text, Average::Mean).unwrap_err().to_string(),
            expected
        );
    }
}

#[test]
fn one_run_has_no_spread_and_newer_versions_measure_memory() {
    let text = r#"{"results": [{"command": "a", "mean": 1.0, "stddev": null, "median": 1.0, "user": 0.5,
        "system": 0.25, "min": 1.0, "max": 1.0, "memory_usage_byte": [100, 300]}]}"#;
    let results = parse(text, Average::Mean).unwrap();
    let metric = |value| Some(Metric::new(value, None, None).unwrap());
    assert_eq!(results.get("a", "latency"), metric(1e9));
    assert_eq!(results.get("a", "peak-memory"), metric(200.0));
}

#[test]
fn the_median_lies_between_the_fastest_and_the_slowest() {
    let text = include_str!("../../../testdata/shell_hyperfine/one.json");
    let results = parse(text, Average::Median).unwrap();
    let metric = results.get("sleep 0.01", "latency").unwrap();
    assert_eq!(metric.value().round().to_string(), "15747511");
    assert_eq!(
        metric.lower_value().unwrap().round().to_string(),
        "11921795"
    );
    assert_eq!(
        metric.upper_value().unwrap().round().to_string(),
        "16009745"
    );
}
