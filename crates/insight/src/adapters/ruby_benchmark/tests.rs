use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "a  0.1 0.2 x (  0.3)",
            r#"line 1, column 1: expected four finite numbers of seconds, found "a  0.1 0.2 x (  0.3)""#,
        ),
        (
            "a  0.1 0.2 0.3 (  0.3)\na  0.1 0.2 0.3 (  0.3)",
            r#"line 2, column 1: the benchmark "a" has the measure "cpu-time" twice"#,
        ),
        (
            "  0.1 0.2 0.3 (  0.3)",
            "line 1, column 3: a benchmark name is empty",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}
