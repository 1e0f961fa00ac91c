use proptest::prelude::*;

use super::*;

/// One set per value; `None` is a set without the benchmark.
fn sets(values: &[Option<f64>]) -> Vec<Results> {
    let set = |value: &Option<f64>| {
        let mut results = Results::default();
        if let Some(value) = *value {
            let metric = Metric::new(value, Some(value - 1.0), Some(value + 1.0)).unwrap();
            let (benchmark, measure) = ("adder".parse().unwrap(), "latency".parse().unwrap());
            results.add_metric(benchmark, measure, metric).unwrap();
        }
        results
    };
    values.iter().map(set).collect()
}

fn check(values: &[Option<f64>], by: Fold, expected: f64) {
    let expected = Metric::new(expected, Some(expected - 1.0), Some(expected + 1.0)).unwrap();
    let folded = fold(&sets(values), by);
    assert_eq!(folded.get("adder", "latency"), Some(expected), "{by:?}");
}

#[test]
fn min_and_max_take_the_whole_metric() {
    let values = [Some(3.0), Some(1.0), Some(2.0)];
    check(&values, Fold::Min, 1.0);
    check(&values, Fold::Max, 3.0);
}

#[test]
fn the_median_of_an_odd_number_is_the_one_in_the_middle() {
    check(&[Some(30.0), Some(1.0), Some(2.0)], Fold::Median, 2.0);
}

#[test]
fn the_median_of_an_even_number_is_the_mean_of_the_two_in_the_middle() {
    check(
        &[Some(9.0), Some(1.0), Some(2.0), Some(4.0)],
        Fold::Median,
        3.0,
    );
}

#[test]
fn the_mean_counts_only_sets_that_hold_the_benchmark() {
    check(&[Some(10.0), None, Some(20.0), None], Fold::Mean, 15.0);
}

#[test]
fn every_fold_of_one_set_is_that_set() {
    for by in [Fold::Min, Fold::Max, Fold::Mean, Fold::Median] {
        check(&[Some(7.5)], by, 7.5);
    }
}

#[test]
fn benchmarks_of_all_sets_are_kept() {
    let text = |name: &str| format!(r#"{{"{name}": {{"m": {{"value": 1}}}}, "none": {{}}}}"#);
    let read = |name| crate::adapters::json::parse(&text(name)).unwrap();
    let folded = fold(&[read("a"), read("b")], Fold::Mean);
    let names: Vec<&str> = folded.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b", "none"]);
}

#[test]
fn nothing_folds_to_nothing() {
    assert!(fold(&[], Fold::Median).is_empty());
}

#[test]
fn folds_are_known_by_name() {
    assert_eq!("median".parse(), Ok(Fold::Median));
    let error = "sum".parse::<Fold>().unwrap_err().to_string();
    assert_eq!(
        error,
        r#"there is no fold "sum": it is min, max, mean or median"#
    );
}

proptest! {
    #[test]
    fn every_fold_lies_between_the_smallest_and_the_largest(
        values in proptest::collection::vec(-1e308..1e308, 1..8),
        by in proptest::sample::select(vec![Fold::Min, Fold::Max, Fold::Mean, Fold::Median]),
    ) {
        let wrapped: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        let folded = fold(&sets(&wrapped), by).get("adder", "latency").unwrap().value();
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        prop_assert!((smallest..=largest).contains(&folded));
    }

    #[test]
    fn the_order_of_sets_does_not_change_min_max_and_median(
        values in proptest::collection::vec(-1e9..1e9, 1..8),
        by in proptest::sample::select(vec![Fold::Min, Fold::Max, Fold::Median]),
    ) {
        let mut wrapped: Vec<Option<f64>> = values.into_iter().map(Some).collect();
        let forward = fold(&sets(&wrapped), by);
        wrapped.reverse();
        prop_assert_eq!(fold(&sets(&wrapped), by), forward);
    }
}
