//! One measured number and how far it may be off.

use kiln_model::v0;
use serde::Serialize;

/// A finite value with an optional finite bound on either side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` is not a finite number")]
pub struct NotFinite {
    pub field: &'static str,
}

impl Metric {
    pub fn new(
        value: f64,
        lower_value: Option<f64>,
        upper_value: Option<f64>,
    ) -> Result<Self, NotFinite> {
        let fields = [
            ("value", Some(value)),
            ("lower_value", lower_value),
            ("upper_value", upper_value),
        ];
        for (field, number) in fields {
            if number.is_some_and(|number| !number.is_finite()) {
                return Err(NotFinite { field });
            }
        }
        Ok(Self {
            value,
            lower_value,
            upper_value,
        })
    }

    pub fn value(self) -> f64 {
        self.value
    }

    pub fn lower_value(self) -> Option<f64> {
        self.lower_value
    }

    pub fn upper_value(self) -> Option<f64> {
        self.upper_value
    }

    /// The mean of each number; a bound that one of the metrics lacks is unknown for all of them. `None` when there are no metrics.
    pub(crate) fn mean(metrics: &[Self]) -> Option<Self> {
        let bound = |pick: fn(Self) -> Option<f64>| {
            let bounds: Option<Vec<f64>> = metrics.iter().map(|metric| pick(*metric)).collect();
            mean(&bounds?)
        };
        let values: Vec<f64> = metrics.iter().map(|metric| metric.value).collect();
        Some(Self {
            value: mean(&values)?,
            lower_value: bound(Self::lower_value),
            upper_value: bound(Self::upper_value),
        })
    }
}

impl From<Metric> for v0::Metric {
    fn from(metric: Metric) -> Self {
        Self {
            value: metric.value,
            lower_value: metric.lower_value,
            upper_value: metric.upper_value,
        }
    }
}

/// The mean of finite numbers, which is finite too.
fn mean(numbers: &[f64]) -> Option<f64> {
    let smallest = numbers.iter().copied().reduce(f64::min)?;
    let largest = numbers.iter().copied().reduce(f64::max)?;
    let count = numbers.iter().fold(0.0, |count, _| count + 1.0);
    let sum: f64 = numbers.iter().sum();
    // Huge numbers overflow the sum; dividing first does not, and is less exact only in that case.
    let mean = if sum.is_finite() {
        sum / count
    } else {
        numbers.iter().map(|number| number / count).sum()
    };
    Some(mean.clamp(smallest, largest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_not_finite_is_refused_by_its_field() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(
                Metric::new(bad, None, None),
                Err(NotFinite { field: "value" })
            );
            assert_eq!(
                Metric::new(1.0, Some(bad), None),
                Err(NotFinite {
                    field: "lower_value"
                })
            );
            assert_eq!(
                Metric::new(1.0, None, Some(bad)),
                Err(NotFinite {
                    field: "upper_value"
                })
            );
        }
    }

    #[test]
    fn the_mean_of_huge_numbers_is_finite() {
        assert_eq!(mean(&[f64::MAX, f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(mean(&[f64::MAX, f64::MAX, f64::MIN, f64::MIN]), Some(0.0));
    }

    #[test]
    fn the_mean_of_nothing_is_nothing() {
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn a_bound_missing_from_one_metric_is_missing_from_the_mean() {
        let with = Metric::new(1.0, Some(0.5), Some(1.5)).unwrap();
        let without = Metric::new(3.0, None, Some(3.5)).unwrap();
        assert_eq!(
            Metric::mean(&[with, without]),
            Some(Metric::new(2.0, None, Some(2.5)).unwrap())
        );
    }
}
