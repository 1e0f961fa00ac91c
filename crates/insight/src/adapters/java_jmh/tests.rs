use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            r#"[{"benchmark": "a", "primaryMetric": {"score": 1, "scoreUnit": "apples"}}]"#,
            r#"line 1, column 17: expected a unit like `ns/op` or `ops/s`, found "apples""#,
        ),
        (
            r#"[{"benchmark": "x.y", "primaryMetric": {"score": "NaN", "scoreUnit": "ns/op"}}]"#,
            r#"line 1, column 17: the measure latency of the benchmark "x.y": `value` is not a finite number"#,
        ),
        (
            r#"[{"benchmark": "a", "primaryMetric": {"score": "many", "scoreUnit": "ns/op"}}]"#,
            r#"line 1, column 53: invalid value: string "many", expected a number"#,
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}
