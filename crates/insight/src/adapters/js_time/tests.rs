use super::*;
use crate::Metric;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "a: 1ms\na: 2ms",
            r#"line 2, column 1: the benchmark "a" has the measure "latency" twice"#,
        ),
        (
            "a: NaNms",
            r#"line 1, column 1: expected a line like `NAME: 1.234ms`, found "a: NaNms""#,
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn long_timers_and_those_of_browsers_are_read() {
    for (text, expected) in [
        ("a: 1:02.5 (m:ss.mmm)", 62.5e9),
        ("a: 1:00:01.5 (h:mm:ss.mmm)", 3_601.5e9),
        ("a: 2.5ms - timer ended", 2.5e6),
        ("a: b: 2s", 2e9),
    ] {
        let results = parse(text).unwrap();
        let (_, measures) = results.iter().next().unwrap();
        let metric = measures.values().next().copied();
        assert_eq!(
            metric,
            Some(Metric::new(expected, None, None).unwrap()),
            "{text}"
        );
    }
}
