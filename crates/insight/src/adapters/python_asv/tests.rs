use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "[ 50.00%] ··· a.time_b   nan",
            r#"line 1, column 29: expected a value like `1.23±0.4μs`, found "nan""#,
        ),
        (
            "[ 50.00%] ··· a.time_b   1±2apples",
            r#"line 1, column 33: expected a unit of time, found "apples""#,
        ),
        (
            "[ 50.00%] ··· ====",
            "line 1, column 1: expected the end of the table, a line of `=`",
        ),
        (
            "[ 50.00%] ··· a.time_b   failed",
            r#"line 1, column 1: expected a line like `[ 50.00%] ··· module.time_name  1.23±0.4μs`, found "[ 50.00%] ··· a.time_b   failed""#,
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}
