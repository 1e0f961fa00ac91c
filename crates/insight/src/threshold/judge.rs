//! Whether a metric crosses its boundary, and whether that is worth an alert.

use super::{Boundary, Direction, Model};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Lower,
    Upper,
}

/// A metric outside of its boundary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    pub limit: Limit,
    /// How probable that is without a change, where the test can say.
    pub probability: Option<f64>,
}

/// What a model says about a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub boundary: Boundary,
    /// How probable a metric so far out is without a change, for the control of false discoveries: also of metrics inside.
    pub probability: Option<f64>,
    /// Only when it is worth an alert.
    pub crossing: Option<Crossing>,
}

/// Compares the metric of a benchmark with its history, oldest value first. A crossing towards the better side of a known
/// `direction` is no alert, nor is one that is smaller than the least effect or of a benchmark that is ignored.
pub fn judge(
    model: &Model,
    benchmark: &str,
    history: &[f64],
    value: f64,
    direction: Option<Direction>,
) -> Option<Judged> {
    let boundary = model.boundary(history)?;
    let probability = model.probability(history, value);
    let limit = if boundary.lower_limit.is_some_and(|limit| value < limit) {
        Some(Limit::Lower)
    } else if boundary.upper_limit.is_some_and(|limit| value > limit) {
        Some(Limit::Upper)
    } else {
        None
    };
    let crossing = limit
        .filter(|limit| is_worse(*limit, direction))
        .filter(|_| is_large_enough(model, boundary, value))
        .filter(|_| !model.ignores(benchmark))
        .map(|limit| Crossing { limit, probability });
    Some(Judged {
        boundary,
        probability,
        crossing,
    })
}

fn is_worse(limit: Limit, direction: Option<Direction>) -> bool {
    match direction {
        None => true,
        Some(Direction::SmallerIsBetter) => limit == Limit::Upper,
        Some(Direction::LargerIsBetter) => limit == Limit::Lower,
    }
}

fn is_large_enough(model: &Model, boundary: Boundary, value: f64) -> bool {
    match (model.rules().min_effect, boundary.baseline) {
        (Some(least), Some(baseline)) => (value - baseline).abs() >= least * baseline.abs(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threshold::{Rules, Test};

    const HISTORY: [f64; 5] = [98.0, 100.0, 102.0, 99.0, 101.0];

    fn rules() -> Rules {
        Rules::plain(Test::Percentage, Some(0.1), Some(0.1))
    }

    fn crossing(rules: Rules, value: f64, direction: Option<Direction>) -> Option<Limit> {
        let model = Model::new(rules).unwrap();
        let judged = judge(&model, "adder", &HISTORY, value, direction).unwrap();
        judged.crossing.map(|crossing| crossing.limit)
    }

    #[test]
    fn only_a_value_strictly_outside_crosses() {
        assert_eq!(crossing(rules(), 90.0, None), None);
        assert_eq!(crossing(rules(), 89.9, None), Some(Limit::Lower));
        assert_eq!(crossing(rules(), 110.1, None), Some(Limit::Upper));
    }

    #[test]
    fn an_improvement_is_no_alert_where_the_direction_is_known() {
        let smaller = Some(Direction::SmallerIsBetter);
        assert_eq!(crossing(rules(), 50.0, smaller), None);
        assert_eq!(crossing(rules(), 150.0, smaller), Some(Limit::Upper));
        let larger = Some(Direction::LargerIsBetter);
        assert_eq!(crossing(rules(), 150.0, larger), None);
        assert_eq!(crossing(rules(), 50.0, larger), Some(Limit::Lower));
    }

    #[test]
    fn an_effect_below_the_least_is_no_alert() {
        let mut rules = rules();
        rules.min_effect = Some(0.2);
        assert_eq!(crossing(rules.clone(), 115.0, None), None);
        assert_eq!(crossing(rules, 120.0, None), Some(Limit::Upper));
    }

    #[test]
    fn an_ignored_benchmark_has_a_boundary_and_no_alert() {
        let mut rules = rules();
        rules.ignore = vec!["add*".parse().unwrap()];
        let model = Model::new(rules).unwrap();
        let judged = judge(&model, "adder", &HISTORY, 200.0, None).unwrap();
        assert_eq!(judged.boundary.upper_limit, Some(110.0));
        assert_eq!(judged.crossing, None);
    }

    #[test]
    fn a_history_shorter_than_the_least_sample_says_nothing() {
        let mut rules = rules();
        rules.min_sample_size = Some(6);
        let model = Model::new(rules).unwrap();
        assert_eq!(judge(&model, "adder", &HISTORY, 200.0, None), None);
    }
}
