use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            r#"{"files": [{"groups": [{"fullName": "a", "benchmarks": [{"name": "b"}]}]}]}"#,
            "line 1, column 69: missing field `hz`",
        ),
        (
            r#"{"files": []}"#,
            r#"line 1, column 1: expected `{`, an object with the list `files`, and benchmarks in it, found "{\"files\": []}""#,
        ),
    ] {
        assert_eq!(
            parse(text, Average::Mean).unwrap_err().to_string(),
            expected
        );
    }
}

#[test]
fn the_median_is_taken_when_it_is_asked_for() {
    let text = include_str!("../../../testdata/js_vitest/report.json");
    let results = parse(text, Average::Median).unwrap();
    let metric = results
        .get("bench.bench.js > fib > ten", "latency")
        .unwrap();
    assert_eq!(metric.value().round().to_string(), "1047");
}
