//! Where the limits lie, given a sample.

use super::{Model, Test};
use crate::statistics::number::float;
use crate::statistics::sample::{interquartile_range, mean, median, sorted, standard_deviation};
use crate::statistics::{normal, student};

/// What a metric is compared with. A limit that the model does not ask for, or that the sample cannot give, is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Boundary {
    pub baseline: Option<f64>,
    pub lower_limit: Option<f64>,
    pub upper_limit: Option<f64>,
}

impl Model {
    /// The boundary that follows from a benchmark's history, oldest value first. Nothing while the history is shorter than
    /// the model or its test wants, and nothing for a static test without any history, as stock servers have it.
    pub fn boundary(&self, history: &[f64]) -> Option<Boundary> {
        let rules = self.rules();
        let least = rules.min_sample_size.map_or(1, |least| least as usize);
        if history.len() < least.max(rules.test.least_sample()) {
            return None;
        }
        let limits = |lower: &dyn Fn(f64) -> f64, upper: &dyn Fn(f64) -> f64| {
            let finite = |limit: f64| limit.is_finite().then_some(limit);
            (
                rules.lower_boundary.map(lower).and_then(finite),
                rules.upper_boundary.map(upper).and_then(finite),
            )
        };
        let (baseline, (lower_limit, upper_limit)) = match rules.test {
            Test::Static => (None, (rules.lower_boundary, rules.upper_boundary)),
            Test::Percentage => {
                let mean = mean(history);
                let share = |boundary| mean * boundary;
                let limits = limits(&|b| mean - share(b), &|b| mean + share(b));
                (Some(mean), limits)
            }
            Test::ZScore | Test::TTest => {
                let Spread { centre, scale } = Spread::of(history)?;
                let away = |boundary| scale * self.quantile(boundary, history.len());
                let limits = if scale > 0.0 {
                    limits(&|b| centre - away(b), &|b| centre + away(b))
                } else {
                    (None, None)
                };
                (Some(centre), limits)
            }
            Test::LogNormal => {
                let Spread { centre, scale } = Spread::of_logarithms(history)?;
                let baseline = centre.exp();
                let above =
                    |boundary| (centre + scale * self.quantile(boundary, history.len())).exp();
                let limits = if scale > 0.0 {
                    limits(&|b| 2.0 * baseline - above(b), &above)
                } else {
                    (None, None)
                };
                (Some(baseline), limits)
            }
            Test::Iqr => {
                let sorted = sorted(history);
                let (middle, range) = (median(&sorted), interquartile_range(&sorted));
                let limits = limits(&|b| middle - b * range, &|b| middle + b * range);
                (Some(middle), limits)
            }
            Test::DeltaIqr => {
                let middle = median(&sorted(history));
                let changes = sorted(&changes(history));
                if changes.is_empty() {
                    return None;
                }
                let range = middle * interquartile_range(&changes);
                let limits = limits(&|b| middle - b * range, &|b| middle + b * range);
                (Some(middle), limits)
            }
        };
        Some(Boundary {
            baseline: baseline.filter(|baseline| baseline.is_finite()),
            lower_limit,
            upper_limit,
        })
    }

    /// How probable a value at least as far from the baseline is, on the sides that the model guards. Nothing where the
    /// test has no distribution or the history no spread.
    pub(super) fn probability(&self, history: &[f64], value: f64) -> Option<f64> {
        let rules = self.rules();
        let (spread, value) = match rules.test {
            Test::ZScore | Test::TTest => (Spread::of(history)?, value),
            Test::LogNormal => (Spread::of_logarithms(history)?, value.ln()),
            Test::Static | Test::Percentage | Test::Iqr | Test::DeltaIqr => return None,
        };
        if !(spread.scale > 0.0 && value.is_finite()) {
            return None;
        }
        let away = (value - spread.centre) / self.stretch(spread.scale, history.len());
        let beyond = |away: f64| {
            let tail = if rules.test == Test::TTest {
                student::upper_tail(away.abs(), float(history.len()) - 1.0)
            } else {
                normal::upper_tail(away.abs())
            };
            if away >= 0.0 { tail } else { 1.0 - tail }
        };
        let probability = match (rules.lower_boundary, rules.upper_boundary) {
            (Some(_), Some(_)) => 2.0 * beyond(away.abs()),
            (Some(_), None) => beyond(-away),
            (None, _) => beyond(away),
        };
        Some(probability)
    }

    /// How many scales from the centre the boundary lies.
    fn quantile(&self, boundary: f64, count: usize) -> f64 {
        if self.rules().test == Test::TTest {
            self.stretch(1.0, count) * student::quantile(boundary, float(count) - 1.0)
        } else {
            normal::quantile(boundary)
        }
    }

    /// A t test predicts the next value, so it adds the doubt about the mean to the spread of the values.
    fn stretch(&self, scale: f64, count: usize) -> f64 {
        if self.rules().test == Test::TTest {
            scale * (1.0 + 1.0 / float(count)).sqrt()
        } else {
            scale
        }
    }
}

struct Spread {
    centre: f64,
    scale: f64,
}

impl Spread {
    fn of(sample: &[f64]) -> Option<Self> {
        (sample.len() > 1).then(|| Self {
            centre: mean(sample),
            scale: deviation(sample),
        })
    }

    /// Only positive numbers have a logarithm.
    fn of_logarithms(sample: &[f64]) -> Option<Self> {
        if sample.iter().any(|value| *value <= 0.0) {
            return None;
        }
        let logarithms: Vec<f64> = sample.iter().map(|value| value.ln()).collect();
        Self::of(&logarithms)
    }
}

/// Equal values have no spread, whatever rounding says.
fn deviation(sample: &[f64]) -> f64 {
    if sample
        .windows(2)
        .all(|two| two[0].total_cmp(&two[1]).is_eq())
    {
        return 0.0;
    }
    standard_deviation(sample)
}

/// From each value to the next, as a share of the earlier one; a change from zero has no share.
fn changes(history: &[f64]) -> Vec<f64> {
    history
        .windows(2)
        .filter(|two| two[0] != 0.0)
        .map(|two| ((two[1] - two[0]) / two[0]).abs())
        .collect()
}

#[cfg(test)]
mod tests;
