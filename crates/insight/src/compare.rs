//! Two samples of one benchmark, compared without any history.

use crate::statistics::number::float;
use crate::statistics::sample::{mean, quantile, sorted, standard_deviation};
use crate::statistics::seeded::Seeded;
use crate::statistics::{normal, student};
use crate::threshold::Direction;
use crate::verdict::{Estimate, Verdict};

#[derive(Clone, Copy, Debug)]
pub struct CompareSettings {
    /// The least difference that matters, as a share of the base.
    pub gate: f64,
    /// How sure the interval is to hold the true difference.
    pub confidence: f64,
    pub resamples: usize,
    pub seed: u64,
    pub direction: Direction,
}

impl Default for CompareSettings {
    fn default() -> Self {
        Self {
            gate: 0.02,
            confidence: 0.99,
            resamples: 1_000,
            seed: 0,
            direction: Direction::SmallerIsBetter,
        }
    }
}

/// How the head differs from the base. Differences are shares of the base: 0.03 is 3 % more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The geometric means.
    pub base: f64,
    pub head: f64,
    pub effect: f64,
    /// Nothing when a side has fewer than two values, or few that do not vary.
    pub interval: Option<(f64, f64)>,
    /// The smallest difference that samples like these show four times out of five.
    pub detectable: Option<f64>,
    pub verdict: Verdict,
}

/// How often a difference of the detectable size is to be found.
const POWER: f64 = 0.8;
/// So many equal values on each side are no coincidence: what was counted does not vary, and is known exactly.
const EXACT: usize = 3;

/// Compares the geometric means of two samples of positive numbers. The interval is a bootstrap of the studentised
/// difference, and never narrower than Student's, which keeps it honest for samples that are too small to resample.
/// Nothing when a side is empty or has a number that is not positive.
pub fn compare(base: &[f64], head: &[f64], settings: CompareSettings) -> Option<Comparison> {
    let base = Logarithms::of(base)?;
    let head = Logarithms::of(head)?;
    let effect = head.mean - base.mean;
    let Some(error) = base.standard_error_with(&head) else {
        return Some(Comparison {
            base: base.mean.exp(),
            head: head.mean.exp(),
            effect: effect.exp_m1(),
            interval: None,
            detectable: None,
            verdict: Verdict::CannotTell,
        });
    };
    let reach = if error > 0.0 {
        resampled_reach(&base, &head, effect, settings).max(welch_reach(
            &base,
            &head,
            settings.confidence,
        ))
    } else {
        0.0
    };
    let estimate = Estimate {
        effect,
        half_width: reach * error,
    };
    let (effect, low, high) = estimate.shares();
    let detectable = ((reach + normal::quantile(POWER)) * error).exp_m1();
    Some(Comparison {
        base: base.mean.exp(),
        head: head.mean.exp(),
        effect,
        interval: Some((low, high)),
        detectable: Some(detectable.max(settings.gate)),
        verdict: estimate.verdict(settings.gate, settings.direction),
    })
}

struct Logarithms {
    values: Vec<f64>,
    mean: f64,
}

impl Logarithms {
    fn of(sample: &[f64]) -> Option<Self> {
        if sample.is_empty() || sample.iter().any(|value| *value <= 0.0) {
            return None;
        }
        Some(Self::of_logarithms(
            sample.iter().map(|value| value.ln()).collect(),
        ))
    }

    fn of_logarithms(values: Vec<f64>) -> Self {
        let mean = mean(&values);
        Self { values, mean }
    }

    /// The variance of the mean.
    fn doubt(&self) -> f64 {
        standard_deviation(&self.values).powi(2) / float(self.values.len())
    }

    /// The standard error of the difference of two means; nothing where there is too little to know it by.
    fn standard_error_with(&self, other: &Self) -> Option<f64> {
        let fewest = self.values.len().min(other.values.len());
        if fewest < 2 {
            return None;
        }
        let error = (self.doubt() + other.doubt()).sqrt();
        (error > 0.0 || fewest >= EXACT).then_some(error)
    }

    fn resample(&self, chance: &mut Seeded) -> Self {
        let count = self.values.len();
        let pick = |_| self.values[chance.below(count)];
        Self::of_logarithms((0..count).map(pick).collect())
    }
}

/// How many standard errors the interval reaches to either side, by resampling. A resample without any spread says
/// nothing and is left out.
fn resampled_reach(
    base: &Logarithms,
    head: &Logarithms,
    effect: f64,
    settings: CompareSettings,
) -> f64 {
    let mut chance = Seeded::new(settings.seed);
    let mut away = Vec::with_capacity(settings.resamples);
    for _ in 0..settings.resamples {
        let (base, head) = (base.resample(&mut chance), head.resample(&mut chance));
        if let Some(error) = base.standard_error_with(&head).filter(|error| *error > 0.0) {
            away.push(((head.mean - base.mean - effect) / error).abs());
        }
    }
    if away.is_empty() {
        return 0.0;
    }
    quantile(&sorted(&away), settings.confidence)
}

/// The same by Welch's t test.
fn welch_reach(base: &Logarithms, head: &Logarithms, confidence: f64) -> f64 {
    let (a, b) = (base.doubt(), head.doubt());
    let freedom = (a + b).powi(2)
        / (a * a / (float(base.values.len()) - 1.0) + b * b / (float(head.values.len()) - 1.0));
    student::quantile(0.5 + confidence / 2.0, freedom)
}

#[cfg(test)]
mod tests;
