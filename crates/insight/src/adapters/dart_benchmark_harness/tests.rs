use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "a(RunTime): x us.",
            r#"line 1, column 13: expected a time like `123.4 us.`, found "x us.""#,
        ),
        (
            "a(RunTime): 1 apples.",
            r#"line 1, column 13: expected a time like `123.4 us.`, found "1 apples.""#,
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}
