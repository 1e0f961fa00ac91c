use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            r#"[{"name": "a", "result": {"latency": {}}}]"#,
            "line 1, column 39: missing field `mean`",
        ),
        (
            "│ (index) │ Task name │ Samples │",
            r#"line 1, column 1: expected a column `Latency avg` or `Latency med`, found "│ (index) │ Task name │ Samples │""#,
        ),
        (
            "│ (index) │ Task name │ Latency avg (ns) │\n│ 0 │ 'a' │ 'NaN ± 1%' │",
            r#"line 2, column 20: expected a number like `12.3 ± 4.5%`, found "NaN ± 1%""#,
        ),
    ] {
        assert_eq!(
            parse(text, Average::Mean).unwrap_err().to_string(),
            expected
        );
    }
}

#[test]
fn tables_and_tasks_have_their_medians_too() {
    for text in [
        include_str!("../../../testdata/js_tinybench/table.txt"),
        include_str!("../../../testdata/js_tinybench/tasks.json"),
    ] {
        let latency = |average| {
            parse(text, average)
                .unwrap()
                .get("fib 10", "latency")
                .unwrap()
        };
        assert!(latency(Average::Median).value() < latency(Average::Mean).value());
    }
}

#[test]
fn tables_of_older_versions_are_read() {
    let text = "\
│ (index) │ Task Name │ ops/sec     │ Average Time (ns) │ Margin   │ Samples │
├─────────┼───────────┼─────────────┼───────────────────┼──────────┼─────────┤
│ 0       │ 'a'       │ '1,234,567' │ 810.5             │ '±0.95%' │ 12      │";
    let results = parse(text, Average::Mean).unwrap();
    assert_eq!(
        results.get("a", "latency").unwrap().value().to_string(),
        "810.5"
    );
    assert_eq!(
        results.get("a", "throughput").unwrap().value().to_string(),
        "1234567"
    );
}
