use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "a    fastest │ slowest │ median │ mean │ samples │ iters\n╰─ b 1 ns    │ x ns    │ 1 ns   │ 1 ns │ 1       │ 1",
            r#"line 2, column 22: expected a time like `1.23 ns`, found "x ns""#,
        ),
        (
            "a    fastest │ slowest │ median │ mean │ samples │ iters\n╰─ b 1 ns",
            "line 2, column 1: expected a time like `1.23 ns`, found the end of the line",
        ),
    ] {
        assert_eq!(
            parse(text, Average::Mean).unwrap_err().to_string(),
            expected
        );
    }
}

#[test]
fn the_median_is_taken_when_it_is_asked_for() {
    let text = include_str!("../../../testdata/rust_divan/allocations.txt");
    let results = parse(text, Average::Median).unwrap();
    let metric = results.get("with_divan::fib::10", "latency").unwrap();
    assert_eq!(
        metric,
        crate::Metric::new(154.6, Some(154.1), Some(159.4)).unwrap()
    );
}
