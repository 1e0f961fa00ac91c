use super::*;
use crate::Metric;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            r#"{"Benchmarks": [{"FullName": "a", "Statistics": {}}]}"#,
            "line 1, column 50: missing field `Mean`",
        ),
        (
            r#"{"Benchmarks": [{"FullName": "a"}]}"#,
            r#"line 1, column 1: expected `{`, an object with the list `Benchmarks`, and statistics in it, found "{\"Benchmarks\": [{\"FullName\": \"a\"}]}""#,
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
    let text = include_str!("../../../testdata/c_sharp_dot_net/documented.json");
    let results = parse(text, Average::Median).unwrap();
    let metric = results.get("Sample.Sums.Total(N: 1000)", "latency");
    assert_eq!(
        metric,
        Some(Metric::new(320.0, Some(310.0), Some(330.0)).unwrap())
    );
}
