use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "PASS [ x.123s] a b",
            r#"line 1, column 7: expected a time like `[   0.123s]`, found " x.123s] a b""#,
        ),
        (
            r#"{"type":"test","event":"ok"}
{"type":1}"#,
            "line 2, column 9: invalid type: integer `1`, expected a string",
        ),
        (
            r#"<testcase name="a" time="NaN"/>"#,
            r#"line 1, column 1: expected a finite number in `time`, found "NaN""#,
        ),
        (
            r#"<testcase time="1"/>"#,
            "line 1, column 1: expected the attribute `name` in <testcase>",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn tests_that_did_not_pass_have_no_time() {
    let text = "<testcase name='a' time='1'><failure/></testcase><testcase name='b' time='2'><system-out/></testcase>";
    let results = parse(text).unwrap();
    let names: Vec<&str> = results.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["b"]);
}

#[test]
fn a_summary_that_repeats_is_not_read_again() {
    let text = "PASS [   0.5s] a b\nSummary [   1s] 1 test run\nPASS [   0.5s] a b";
    assert_eq!(parse(text).unwrap().iter().count(), 1);
}
