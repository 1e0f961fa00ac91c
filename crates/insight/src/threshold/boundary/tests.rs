//! Each boundary against scipy: `reference/boundaries.py` makes the values.

use serde_json::Value;

use super::*;
use crate::threshold::Rules;

const BOUNDARIES: &str = "boundaries: sample, test, boundary, baseline, lower limit, upper limit";
const TAILS: &str = "tails: sample, test, value, probability of a larger one";

fn reference() -> Value {
    serde_json::from_str(include_str!("../reference/boundaries.json")).unwrap()
}

fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().unwrap();
    list.iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Equal to one part in 10^9, or to that part of `scale` where the number itself is small beside it.
fn close(ours: f64, theirs: f64, scale: f64) -> bool {
    (ours - theirs).abs() <= 1e-9 * theirs.abs().max(scale * 1e-3)
}

#[test]
fn every_boundary_is_that_of_scipy() {
    let reference = reference();
    let cases = reference[BOUNDARIES].as_array().unwrap();
    assert!(cases.len() > 250, "{}", cases.len());
    for case in cases {
        let sample = numbers(&reference["samples"][case[0].as_str().unwrap()]);
        let test: Test = case[1].as_str().unwrap().parse().unwrap();
        let boundary = case[2].as_f64();
        let model = Model::new(Rules::plain(test, boundary, boundary)).unwrap();
        let found = model.boundary(&sample).unwrap();
        let ours = [found.baseline, found.lower_limit, found.upper_limit];
        for (ours, theirs) in ours.into_iter().zip(3..) {
            let (ours, theirs) = (ours.unwrap(), case[theirs].as_f64().unwrap());
            let scale = found.baseline.unwrap().abs();
            assert!(close(ours, theirs, scale), "{case}: {ours}, not {theirs}");
        }
    }
}

#[test]
fn every_probability_is_that_of_scipy() {
    let reference = reference();
    let cases = reference[TAILS].as_array().unwrap();
    assert!(cases.len() > 80, "{}", cases.len());
    for case in cases {
        let sample = numbers(&reference["samples"][case[0].as_str().unwrap()]);
        let test: Test = case[1].as_str().unwrap().parse().unwrap();
        let model = Model::new(Rules::plain(test, None, Some(0.9))).unwrap();
        let ours = model
            .probability(&sample, case[2].as_f64().unwrap())
            .unwrap();
        let theirs = case[3].as_f64().unwrap();
        assert!(close(ours, theirs, 1e-6), "{case}: {ours}, not {theirs}");
    }
}

#[test]
fn static_boundaries_are_the_limits_once_there_is_history() {
    let model = Model::new(Rules::plain(Test::Static, Some(1.0), Some(2.0))).unwrap();
    assert_eq!(model.boundary(&[]), None);
    let expected = Boundary {
        baseline: None,
        lower_limit: Some(1.0),
        upper_limit: Some(2.0),
    };
    assert_eq!(model.boundary(&[5.0]), Some(expected));
}

#[test]
fn values_that_do_not_vary_have_a_baseline_and_no_limits() {
    for test in [Test::ZScore, Test::TTest, Test::LogNormal] {
        let model = Model::new(Rules::plain(test, Some(0.9), Some(0.9))).unwrap();
        let boundary = model.boundary(&[0.1, 0.1, 0.1]).unwrap();
        assert_eq!((boundary.lower_limit, boundary.upper_limit), (None, None));
        assert_eq!(model.probability(&[0.1, 0.1, 0.1], 5.0), None);
    }
}

#[test]
fn a_logarithm_of_what_is_not_positive_gives_nothing() {
    let model = Model::new(Rules::plain(Test::LogNormal, None, Some(0.9))).unwrap();
    assert_eq!(model.boundary(&[1.0, 0.0, 2.0]), None);
}

#[test]
fn changes_from_zero_are_passed_over() {
    let model = Model::new(Rules::plain(Test::DeltaIqr, None, Some(2.0))).unwrap();
    assert_eq!(model.boundary(&[0.0, 0.0]), None);
    assert!(model.boundary(&[0.0, 1.0, 2.0]).is_some());
}

#[test]
fn both_sides_double_the_probability() {
    let sample = [9.0, 10.0, 11.0];
    let model = |lower, upper| Model::new(Rules::plain(Test::TTest, lower, upper)).unwrap();
    let upper = model(None, Some(0.9)).probability(&sample, 13.0).unwrap();
    let lower = model(Some(0.9), None).probability(&sample, 13.0).unwrap();
    let both = model(Some(0.9), Some(0.9))
        .probability(&sample, 7.0)
        .unwrap();
    assert!((upper + lower - 1.0).abs() < 1e-12);
    assert!((both - 2.0 * upper).abs() < 1e-12);
}
