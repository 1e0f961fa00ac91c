use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "a x many ops/sec (1 runs sampled) min..max=(1ns...2ns)",
            r#"line 1, column 5: expected `N ops/sec`, found "many ops/sec""#,
        ),
        (
            "a x 1 ops/sec (1 runs sampled) min..max=(1ns...)",
            r#"line 1, column 42: expected a range like `1.2us...3.4us)`, found "1ns...)""#,
        ),
        (
            "min..max=(1ns...2ns)",
            "line 1, column 1: expected `NAME x N ops/sec`, found the end of the line",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}
