use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "a x Infinity ops/sec ±1% (1 runs sampled)",
            r#"line 1, column 5: expected a finite number of operations, found "Infinity""#,
        ),
        (
            "a x 1 ops/sec ±NaN% (1 runs sampled)",
            r#"line 1, column 17: expected a margin like `1.23%`, found "NaN% (1 runs sampled)""#,
        ),
        (
            "1 ops/sec ±1% (1 runs sampled)",
            r#"line 1, column 1: expected `NAME x N`, found "1""#,
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}
