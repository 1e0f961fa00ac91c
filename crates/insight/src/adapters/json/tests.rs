use proptest::prelude::*;

use super::*;
use crate::limits::{MAX_BENCHMARK_NAME, MAX_MEASURES, MAX_REASON};

fn check_error(text: &str, expected: &str) {
    let error = parse(text).expect_err(text).to_string();
    assert_eq!(error, expected, "{text}");
}

#[test]
fn a_metric_is_read_with_its_bounds() {
    let text =
        r#"{"adder": {"latency": {"value": 88.0, "lower_value": 87.42, "upper_value": 88.88}}}"#;
    assert_eq!(
        parse(text).unwrap().get("adder", "latency"),
        Some(Metric::new(88.0, Some(87.42), Some(88.88)).unwrap())
    );
}

#[test]
fn bounds_may_be_null_or_absent() {
    let expected = Some(Metric::new(-3.0, None, None).unwrap());
    for text in [
        r#"{"b": {"m": {"value": -3}}}"#,
        r#"{"b": {"m": {"value": -3, "lower_value": null, "upper_value": null}}}"#,
    ] {
        assert_eq!(parse(text).unwrap().get("b", "m"), expected);
    }
}

#[test]
fn an_empty_object_holds_no_metrics() {
    assert!(parse(" {}\n").unwrap().is_empty());
}

#[test]
fn a_benchmark_without_measures_is_kept() {
    let results = parse(r#"{"b": {}}"#).unwrap();
    assert_eq!(results.iter().count(), 1);
}

#[test]
fn other_members_of_a_metric_are_ignored() {
    let text = r#"{"b": {"m": {"unit": ["ns", {}], "value": 1, "n": null}}}"#;
    assert_eq!(
        parse(text).unwrap().get("b", "m"),
        Some(Metric::new(1.0, None, None).unwrap())
    );
}

#[test]
fn a_benchmark_that_occurs_twice_is_named() {
    check_error(
        "{\"a\": {},\n \"b\": {},\n \"a\": {}}",
        r#"line 3, column 4: the benchmark "a" occurs twice"#,
    );
}

#[test]
fn a_measure_that_occurs_twice_is_named() {
    check_error(
        r#"{"a": {"m": {"value": 1}, "m": {"value": 2}}}"#,
        r#"line 1, column 44: the benchmark "a" has the measure "m" twice"#,
    );
}

#[test]
fn a_field_that_occurs_twice_is_named() {
    check_error(
        r#"{"a": {"m": {"value": 1, "value": 2}}}"#,
        "line 1, column 36: duplicate field `value`",
    );
}

#[test]
fn text_that_is_not_an_object_is_told_what_was_expected() {
    for (text, expected) in [
        ("", "the output is empty"),
        (
            "\n  not bmf",
            "line 2, column 3: expected `{`, the start of an object of benchmarks, found 'n'",
        ),
        (
            "[]",
            "line 1, column 1: expected `{`, the start of an object of benchmarks, found '['",
        ),
        (
            "\u{feff}{}",
            "line 1, column 1: expected `{`, the start of an object of benchmarks, found '\\u{feff}'",
        ),
    ] {
        check_error(text, expected);
    }
}

#[test]
fn a_value_of_the_wrong_type_is_told_what_was_expected() {
    for (text, expected) in [
        (
            r#"{"a": 1}"#,
            r#"line 1, column 7: invalid type: integer `1`, expected an object of measures for "a""#,
        ),
        (
            r#"{"a": {"m": 1}}"#,
            "line 1, column 13: invalid type: integer `1`, expected a metric, which is an object with the number `value`",
        ),
        (
            r#"{"a": {"m": [1, 2, 3]}}"#,
            "line 1, column 12: invalid type: sequence, expected a metric, which is an object with the number `value`",
        ),
        (
            r#"{"a": {"m": {"value": "1"}}}"#,
            r#"line 1, column 25: invalid type: string "1", expected a JSON number"#,
        ),
        (
            r#"{"a": {"m": {"value": null}}}"#,
            "line 1, column 26: invalid type: null, expected a JSON number",
        ),
        (
            r#"{"a": {"m": {"lower_value": 1}}}"#,
            "line 1, column 30: missing field `value`",
        ),
    ] {
        check_error(text, expected);
    }
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    for (number, expected) in [
        (
            "NaN",
            "line 1, column 20: expected a finite number, found `NaN`",
        ),
        (
            "Infinity",
            "line 1, column 20: expected a finite number, found `Infinity`",
        ),
        ("1e999", "line 1, column 24: number out of range"),
        ("-1e999", "line 1, column 25: number out of range"),
    ] {
        check_error(
            &format!(r#"{{"a":{{"m":{{"value":{number}}}}}}}"#),
            expected,
        );
    }
}

#[test]
fn text_after_the_object_is_refused() {
    check_error("{} {}", "line 1, column 4: trailing characters");
}

#[test]
fn a_cut_text_is_refused() {
    let whole = r#"{"a": {"m": {"value": 1, "upper_value": 2.5e1}}}"#;
    for end in 0..whole.len() {
        assert!(parse(&whole[..end]).is_err(), "{}", &whole[..end]);
    }
}

#[test]
fn names_outside_the_rules_are_refused() {
    let long = "x".repeat(MAX_BENCHMARK_NAME + 1);
    for text in [
        r#"{"": {}}"#.to_owned(),
        r#"{"a\u0000": {}}"#.to_owned(),
        format!(r#"{{"{long}": {{}}}}"#),
        r#"{"a": {"": {"value": 1}}}"#.to_owned(),
        r#"{"a": {"m\u0000": {"value": 1}}}"#.to_owned(),
        r#"{"a": {"m\u001b[31m": {"value": 1}}}"#.to_owned(),
        "{\"a\": {\"m\u{fffd}\": {\"value\": 1}}}".to_owned(),
        format!(r#"{{"a": {{"{}": {{"value": 1}}}}}}"#, "x".repeat(65)),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(matches!(error, ParseError::Malformed { .. }), "{error}");
    }
}

#[test]
fn measures_over_the_limit_are_refused() {
    let measures: Vec<String> = (0..=MAX_MEASURES)
        .map(|index| format!(r#""m{index}": {{"value": 1}}"#))
        .collect();
    let error = parse(&format!(r#"{{"a": {{{}}}}}"#, measures.join(","))).unwrap_err();
    assert!(
        error.to_string().ends_with("has more than 255 measures"),
        "{error}"
    );
}

#[test]
fn a_quoted_input_does_not_make_an_endless_error() {
    let text = format!(r#"{{"a": {{"m": "{}"}}}}"#, "x".repeat(100_000));
    let error = parse(&text).unwrap_err().to_string();
    assert!(error.chars().count() < MAX_REASON + 100);
}

#[test]
fn deep_nesting_in_an_ignored_member_does_not_exhaust_the_stack() {
    let deep = 100_000;
    let text = format!(
        r#"{{"a": {{"m": {{"value": 1, "x": {}{}}}}}}}"#,
        "[".repeat(deep),
        "]".repeat(deep)
    );
    assert!(parse(&text).unwrap().get("a", "m").is_some());
}

fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |number| number.is_finite())
}

fn metric() -> impl Strategy<Value = Metric> {
    let bound = || proptest::option::of(finite());
    (finite(), bound(), bound())
        .prop_map(|(value, lower, upper)| Metric::new(value, lower, upper).unwrap())
}

fn results() -> impl Strategy<Value = Results> {
    let measure = r#"[a-zA-Z0-9é"\\/][a-z \\é"]{0,8}[a-z"]"#.prop_map(|name| name.parse().unwrap());
    let benchmark = "[ -~é✓]{1,24}".prop_map(|name| name.parse().unwrap());
    let measures = proptest::collection::btree_map(measure, metric(), 0..4);
    proptest::collection::btree_map(benchmark, measures, 0..6).prop_map(|benchmarks| {
        let mut results = Results::default();
        for (benchmark, measures) in benchmarks {
            results.add_benchmark(benchmark, measures).unwrap();
        }
        results
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_to_the_last_bit(results in results()) {
        let text = serde_json::to_string(&results).unwrap();
        prop_assert_eq!(parse(&text), Ok(results));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        _ = parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_tokens_make_it_panic(tokens in proptest::collection::vec(
        proptest::sample::select(vec![
            "{", "}", "[", "]", ":", ",", "\"a\"", "\"value\"", "\"lower_value\"", "1", "-0.0", "1e309",
            "null", "true", "\"\\ud800\"", "\"\\u0000\"", " ", "\n", "NaN", "\u{202e}",
        ]), 0..40)) {
        _ = parse(&tokens.concat());
    }

    #[test]
    fn no_flipped_byte_makes_it_panic(results in results(), at in any::<proptest::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = serde_json::to_vec(&results).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        _ = parse(&String::from_utf8_lossy(&bytes));
    }
}
