use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "a::b::c\n  Instructions:   x|N/A (*)",
            r#"line 2, column 19: expected a counter like `1234|N/A`, found "x""#,
        ),
        (
            r#"text
{"a": 1}"#,
            "line 2, column 1: expected a summary with `module_path` and `profiles`",
        ),
        (
            r#"text
{"a": }"#,
            "line 2, column 7: expected value",
        ),
        (
            r#"{"module_path": "a", "profiles": []}"#,
            "line 1, column 1: expected a summary with metrics of the newest run",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn text_and_summaries_may_be_mixed() {
    let summary = include_str!("../../../testdata/rust_gungraun/documented_v6.json");
    let text =
        include_str!("../../../testdata/rust_gungraun/tools.txt").replace("fib short", "fib other");
    let both = parse(&format!("{text}\n{summary}")).unwrap();
    let parts = [parse_stdout(&text).unwrap(), parse_json(summary).unwrap()];
    for (name, measures) in parts.iter().flat_map(Results::iter) {
        for (measure, metric) in measures {
            assert_eq!(both.get(name.as_str(), measure.as_str()), Some(*metric));
        }
    }
}

#[test]
fn each_half_reads_only_its_own() {
    let summary = include_str!("../../../testdata/rust_gungraun/documented_v6.json");
    let text = include_str!("../../../testdata/rust_gungraun/callgrind.txt");
    assert!(parse_stdout(summary).is_err());
    assert!(parse_json(text).is_err());
}
