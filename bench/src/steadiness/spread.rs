//! How much samples spread, and how sure that is.

use crate::statistics::{quantile, sorted};

const RESAMPLES: usize = 2_000;

/// A ratio, and what it is below with 95% of confidence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    pub(super) value: f64,
    pub(super) upper: f64,
}

/// Of the coefficients of variation of two sets of samples; the bound by the bootstrap.
pub(super) fn ratio(left: &[f64], right: &[f64]) -> Ratio {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let resampled = (0..RESAMPLES)
        .map(|_| variation(&resample(left, &mut state)) / variation(&resample(right, &mut state)));
    let resampled = sorted(resampled);
    Ratio {
        value: variation(left) / variation(right),
        upper: quantile(&resampled, 0.95),
    }
}

/// The standard deviation as a share of the mean.
#[expect(clippy::cast_precision_loss, reason = "a few thousand samples")]
pub(super) fn variation(samples: &[f64]) -> f64 {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    (squares / (count - 1.0)).sqrt() / mean
}

fn resample(samples: &[f64], state: &mut u64) -> Vec<f64> {
    let count = samples.len() as u64;
    samples
        .iter()
        .map(|_| {
            // Xorshift; the same bound every time for the same samples.
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            let index = usize::try_from(*state % count).expect("an index of a slice");
            samples[index]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(spread: f64) -> Vec<f64> {
        (0..1_100)
            .map(|number| 100.0 + spread * f64::from(number % 11 - 5))
            .collect()
    }

    #[test]
    fn variation_does_not_depend_on_the_unit() {
        let micros = samples(1.0);
        let nanos: Vec<f64> = micros.iter().map(|micros| micros * 1e3).collect();
        assert!((variation(&micros) - variation(&nanos)).abs() < 1e-12);
    }

    #[test]
    fn equal_spreads_are_about_one_and_the_bound_lies_above() {
        let ratio = ratio(&samples(1.0), &samples(1.0));
        assert!((ratio.value - 1.0).abs() < 1e-12);
        assert!(ratio.upper > 1.0 && ratio.upper < 1.1, "{ratio:?}");
    }

    #[test]
    fn twice_the_spread_is_twice_the_ratio() {
        let ratio = ratio(&samples(2.0), &samples(1.0));
        assert!((ratio.value - 2.0).abs() < 1e-9, "{ratio:?}");
    }
}
