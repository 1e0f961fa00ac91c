use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "test a ... bench: many ns/iter (+/- 1)",
            r#"line 1, column 19: expected a number of nanoseconds, found "many""#,
        ),
        (
            "test a ... bench: 1 apples (+/- 1)",
            r#"line 1, column 21: expected `ns/iter`, found "apples""#,
        ),
        (
            "test a ... bench: 1 ns/iter (+/- NaN)",
            r#"line 1, column 34: expected a deviation like `(+/- 56)`, found "NaN)""#,
        ),
        (
            "test a ... bench: 1 ns/iter (+/- 2) = x MB/s",
            r#"line 1, column 39: expected a rate in `MB/s`, found "x""#,
        ),
        (
            "test a ... bench: 1 ns/iter (+/- 2)\ntest a ... bench: 1 ns/iter (+/- 2)",
            r#"line 2, column 1: the benchmark "a" has the measure "latency" twice"#,
        ),
        (
            "test a ... ok",
            r#"line 1, column 1: expected a line like `test NAME ... bench: 1,234 ns/iter (+/- 56)`, found "test a ... ok""#,
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}
