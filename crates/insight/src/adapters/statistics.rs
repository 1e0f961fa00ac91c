//! The few statistics that adapters take of raw values themselves.

use super::number::count;

/// Not a number for no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

/// The middle one, or the mean of the two in the middle; not a number for no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.as_slice() {
        [] => f64::NAN,
        sorted if sorted.len() % 2 == 1 => sorted[middle],
        sorted => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// Of a sample, with n−1; nothing for fewer than two values.
pub(crate) fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / count(values.len() - 1)).sqrt())
}

/// The median of the distances from the median.
pub(crate) fn median_absolute_deviation(values: &[f64]) -> f64 {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&distances)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::float_cmp, reason = "small integers are exact")]
    #[test]
    fn they_are_what_textbooks_say() {
        let values = [2.0, 4.0, 4.0, 10.0];
        assert_eq!(mean(&values), 5.0);
        assert_eq!(median(&values), 4.0);
        assert_eq!(median(&values[..3]), 4.0);
        assert_eq!(standard_deviation(&values), Some(12f64.sqrt()));
        assert_eq!(median_absolute_deviation(&values), 1.0);
    }

    #[test]
    fn few_values_have_no_spread() {
        assert_eq!(standard_deviation(&[1.0]), None);
        assert!(mean(&[]).is_nan() && median(&[]).is_nan());
    }
}
