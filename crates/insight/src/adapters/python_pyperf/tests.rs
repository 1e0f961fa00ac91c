use super::*;
use crate::Metric;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            r#"{"benchmarks": [{"runs": [{"values": [1e999]}]}]}"#,
            "line 1, column 43: number out of range",
        ),
        (
            r#"{"benchmarks": [{"runs": [{}]}]}"#,
            r#"line 1, column 1: expected `{`, an object with the list `benchmarks`, and runs with values in it, found "{\"benchmarks\": [{\"runs\": [{}]}]}""#,
        ),
    ] {
        assert_eq!(
            parse(text, Average::Mean).unwrap_err().to_string(),
            expected
        );
    }
}

#[test]
fn the_name_and_the_unit_may_be_those_of_the_suite() {
    let text = r#"{"benchmarks": [{"runs": [{"values": [1, 2]}, {"values": [6]}]}],
        "metadata": {"name": "a", "unit": "byte"}}"#;
    let memory = |average| parse(text, average).unwrap().get("a", "memory").unwrap();
    assert_eq!(
        memory(Average::Median),
        Metric::new(2.0, Some(1.0), Some(3.0)).unwrap()
    );
    assert_eq!(memory(Average::Mean).value().to_string(), "3");
}
