use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "a  time:   [1 ns 2 ns",
            r#"line 1, column 13: expected a closing `]`, found "1 ns 2 ns""#,
        ),
        (
            "a  time:   [1 ns 2 ns 3]",
            r#"line 1, column 23: expected a time like `1.2 ns`, found "3""#,
        ),
        (
            "a  time:   [1 ns inf ns 3 ns]",
            r#"line 1, column 18: expected a time like `1.2 ns`, found "inf""#,
        ),
        (
            "  time:   [1 ns 2 ns 3 ns]",
            r#"line 1, column 1: expected the name of the benchmark on this line or the one above, found "  time:   [1 ns 2 ns 3 ns]""#,
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_name_may_stand_on_the_line_above() {
    let text = "a long name\n                        time:   [1.0 ms 2.0 ms 3.0 ms]";
    let metric = parse(text).unwrap().get("a long name", "latency").unwrap();
    assert_eq!(
        metric,
        crate::Metric::new(2e6, Some(1e6), Some(3e6)).unwrap()
    );
}

#[test]
fn changes_since_the_last_run_are_no_throughput() {
    let text = "\
a  time:   [1.0 ns 2.0 ns 3.0 ns]
   thrpt:  [1.0 Kelem/s 2.0 Kelem/s 3.0 Kelem/s]
   change:
   time:   [\u{2212}1.0% +0.5% +1.0%] (p = 0.5 > 0.05)
   thrpt:  [\u{2212}1.0% +0.5% +1.0%]";
    let results = parse(text).unwrap();
    let (_, measures) = results.iter().next().unwrap();
    assert_eq!((results.iter().count(), measures.len()), (1, 2));
}
