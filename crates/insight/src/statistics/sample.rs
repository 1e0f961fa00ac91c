//! What a sample looks like: its middle and its spread.

use super::number::{float, floor_index};

/// Not a number for an empty sample.
pub(crate) fn mean(sample: &[f64]) -> f64 {
    let count = float(sample.len());
    let first = sample.iter().sum::<f64>() / count;
    // A second pass takes back what the first one rounded away.
    first + sample.iter().map(|value| value - first).sum::<f64>() / count
}

/// The standard deviation of the population that the sample was drawn from (divisor n - 1).
pub(crate) fn standard_deviation(sample: &[f64]) -> f64 {
    let mean = mean(sample);
    let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (float(sample.len()) - 1.0)).sqrt()
}

pub(crate) fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The quantile of a sorted sample, linear between its members. Not a number for an empty sample.
pub(crate) fn quantile(sorted: &[f64], probability: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let position = probability * float(last);
    let below = floor_index(position).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (position - float(below))
}

pub(crate) fn median(sorted: &[f64]) -> f64 {
    quantile(sorted, 0.5)
}

/// How far the quartiles lie apart.
pub(crate) fn interquartile_range(sorted: &[f64]) -> f64 {
    quantile(sorted, 0.75) - quantile(sorted, 0.25)
}

/// How much each member is like the one before it, from -1 to 1; 0 when nothing varies.
pub(crate) fn lag_one_correlation(series: &[f64]) -> f64 {
    let mean = mean(series);
    let spread: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    let together: f64 = series
        .windows(2)
        .map(|two| (two[0] - mean) * (two[1] - mean))
        .sum();
    if spread > 0.0 { together / spread } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: f64, expected: f64) -> bool {
        (ours - expected).abs() < 1e-15
    }

    #[test]
    fn quantiles_lie_on_the_line_between_members() {
        let sample = [1.0, 2.0, 4.0, 8.0];
        for (probability, expected) in [(0.0, 1.0), (0.25, 1.75), (0.5, 3.0), (1.0, 8.0)] {
            assert!(
                close(quantile(&sample, probability), expected),
                "{probability}"
            );
        }
        assert!(close(median(&[7.0]), 7.0));
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_deviation_is_that_of_the_population() {
        assert!(close(
            standard_deviation(&[2.0, 4.0]),
            std::f64::consts::SQRT_2
        ));
    }

    #[test]
    fn a_trend_is_like_itself_and_a_zigzag_is_its_own_opposite() {
        assert!(lag_one_correlation(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) > 0.4);
        assert!(lag_one_correlation(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) < -0.8);
        assert!(close(lag_one_correlation(&[3.0, 3.0, 3.0]), 0.0));
    }
}
