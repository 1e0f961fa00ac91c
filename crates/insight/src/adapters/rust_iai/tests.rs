use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "a\n  Instructions: x",
            r#"line 2, column 17: expected `Instructions:` and a number, found "x""#,
        ),
        (
            "a\n  Instructions: 1\n  L2 Accesses: 2",
            r#"line 3, column 3: expected `L1 Accesses:` and a number, found "L2 Accesses: 2""#,
        ),
        (
            "a\n  Instructions: 1",
            "line 2, column 1: expected `L1 Accesses:` on the next line, found the end of the line",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}
