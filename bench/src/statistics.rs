//! Medians and spreads. Means are for quiet machines.

use serde::Serialize;

/// The middle of some values and their extremes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
}

impl Summary {
    /// Of at least one value.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let sorted = sorted(values);
        Self {
            median: quantile(&sorted, 0.5),
            lowest: quantile(&sorted, 0.0),
            highest: quantile(&sorted, 1.0),
        }
    }
}

pub(crate) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The value below which the given share of `sorted` lies, between its neighbours where it falls between two.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a position among a few thousand values"
)]
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted
        .len()
        .checked_sub(1)
        .expect("there is no quantile of nothing");
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    below + (above - below) * position.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], share: f64, expected: f64) {
        let found = quantile(&sorted(values.iter().copied()), share);
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn the_median_of_an_odd_number_of_values_is_the_middle_one() {
        check(&[9.0, 1.0, 5.0], 0.5, 5.0);
    }

    #[test]
    fn the_median_of_an_even_number_of_values_lies_between_the_two_in_the_middle() {
        check(&[4.0, 1.0, 3.0, 2.0], 0.5, 2.5);
    }

    #[test]
    fn nine_tenths_lie_below_the_ninth_decile() {
        let values: Vec<f64> = (0..=10).map(f64::from).collect();
        check(&values, 0.9, 9.0);
    }

    #[test]
    fn every_quantile_of_one_value_is_that_value() {
        check(&[7.0], 0.0, 7.0);
        check(&[7.0], 0.9, 7.0);
    }

    #[test]
    fn one_outlier_moves_the_spread_and_not_the_median() {
        let summary = Summary::of([100.0, 101.0, 99.0, 100.0, 3.0]);
        let expected = Summary {
            median: 100.0,
            lowest: 3.0,
            highest: 101.0,
        };
        assert_eq!(summary, expected);
    }
}
