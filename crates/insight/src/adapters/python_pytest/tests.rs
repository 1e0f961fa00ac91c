use super::*;
use crate::Metric;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            r#"{"benchmarks": [{"fullname": "a", "stats": {"min": 1}}]}"#,
            "line 1, column 53: missing field `max`",
        ),
        (
            r#"{"benchmarks": 1}"#,
            "line 1, column 16: invalid type: integer `1`, expected a sequence",
        ),
    ] {
        assert_eq!(
            parse(text, Average::Mean).unwrap_err().to_string(),
            expected
        );
    }
}

#[test]
fn the_median_comes_with_the_range_between_the_quartiles() {
    let text = r#"{"benchmarks": [{"fullname": "a", "stats":
        {"min": 1, "max": 5, "mean": 2, "stddev": 0.5, "median": 3, "iqr": 1}}]}"#;
    let latency = |average| parse(text, average).unwrap().get("a", "latency").unwrap();
    let metric = |value, lower, upper| Metric::new(value, Some(lower), Some(upper)).unwrap();
    assert_eq!(latency(Average::Mean), metric(2e9, 1.5e9, 2.5e9));
    assert_eq!(latency(Average::Median), metric(3e9, 2e9, 4e9));
}
