use super::*;
use crate::Metric;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "BenchmarkA-2 10 NaN ns/op",
            r#"line 1, column 17: expected a finite number, found "NaN""#,
        ),
        (
            "BenchmarkA-2 10 12",
            "line 1, column 19: expected a unit, found the end of the line",
        ),
        (
            "BenchmarkA-2 10",
            "line 1, column 16: expected a number and its unit, found the end of the line",
        ),
        (
            "ok  example.com/adder 0.1s",
            r#"line 1, column 1: expected a line like `BenchmarkName-8  1000  1234 ns/op`, found "ok  example.com/adder 0.1s""#,
        ),
    ] {
        assert_eq!(
            parse(text, Average::Mean).unwrap_err().to_string(),
            expected
        );
    }
}

#[test]
fn runs_of_a_benchmark_become_one_metric() {
    let text = "BenchmarkA 1 10 ns/op\nBenchmarkA 1 20 ns/op\nBenchmarkA 1 60 ns/op";
    let latency = |average| {
        parse(text, average)
            .unwrap()
            .get("BenchmarkA", "latency")
            .unwrap()
    };
    let metric = |value| Metric::new(value, Some(10.0), Some(60.0)).unwrap();
    assert_eq!(latency(Average::Mean), metric(30.0));
    assert_eq!(latency(Average::Median), metric(20.0));
}

#[test]
fn a_benchmark_that_logs_is_read_once() {
    let text = "BenchmarkA\n    a_test.go:5: hello\nBenchmarkA-2   100   5.0 us/op";
    let results = parse(text, Average::Mean).unwrap();
    assert_eq!(results.iter().count(), 1);
    assert_eq!(
        results.get("BenchmarkA-2", "latency"),
        Some(Metric::new(5e3, None, None).unwrap())
    );
}
