use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "benchmark name  samples  iterations  estimated\na   1  1  1 ns\n  1 ns  x ns  3 ns",
            r#"line 3, column 9: expected three times like `1.23 ns`, found "x""#,
        ),
        (
            "benchmark name  samples  iterations  estimated\na   1  1  1 ns",
            "line 2, column 1: expected three times like `1.23 ns` on a line below this",
        ),
        (
            r#"<BenchmarkResults name="a"><mean value="inf"/>"#,
            r#"line 1, column 28: expected a finite number in `value`, found "inf""#,
        ),
        (
            r#"<BenchmarkResults name="a"></BenchmarkResults>"#,
            "line 1, column 1: expected <mean> and <standardDeviation> in this",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}
