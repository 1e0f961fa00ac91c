use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            r#"{"benchmarks": [{"real_time": 1}]}"#,
            "line 1, column 1: a benchmark has no `name`",
        ),
        (
            r#"{"benchmarks": [
{"name": "a", "real_time": 1, "time_unit": "apples"}]}"#,
            r#"line 2, column 11: expected a unit of time, found "apples""#,
        ),
        (
            r#"{"benchmarks": [
{"name": "a"}]}"#,
            "line 2, column 11: expected the number `real_time`",
        ),
        (
            r#"{"benchmarks": []}"#,
            r#"line 1, column 1: expected `{`, an object with the list `benchmarks`, and benchmarks in it, found "{\"benchmarks\": []}""#,
        ),
    ] {
        assert_eq!(
            parse(text, Average::Mean).unwrap_err().to_string(),
            expected
        );
    }
}

#[test]
fn a_benchmark_that_failed_is_named_with_its_reason() {
    let text = include_str!("../../../testdata/cpp_google/failed.json");
    let error = parse(text, Average::Mean).unwrap_err().to_string();
    assert!(
        error.ends_with(r#"the benchmark "BM_Broken" failed: no device"#),
        "{error}"
    );
}

#[test]
fn the_median_of_repetitions_is_taken_when_it_is_asked_for() {
    for text in [
        include_str!("../../../testdata/cpp_google/repetitions.json"),
        include_str!("../../../testdata/cpp_google/aggregates.json"),
    ] {
        let latency = |average| {
            parse(text, average)
                .unwrap()
                .get("BM_Sort", "latency")
                .unwrap()
        };
        assert_ne!(latency(Average::Median), latency(Average::Mean));
    }
}
