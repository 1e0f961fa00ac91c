//! Control of the false discovery rate: with a thousand benchmarks in a report, a boundary at 99 % is crossed ten times by
//! chance alone.

use crate::statistics::number::float;

/// Which of the hypotheses with these probabilities are discoveries, such that the expected share of false ones among them is
/// at most `rate` (Benjamini and Hochberg, 1995).
pub fn discoveries(probabilities: &[f64], rate: f64) -> Vec<bool> {
    let count = float(probabilities.len());
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let accepted = order
        .iter()
        .enumerate()
        .filter(|(rank, index)| probabilities[**index] <= rate * float(rank + 1) / count)
        .map(|(rank, _)| rank + 1)
        .max()
        .unwrap_or(0);
    let mut found = vec![false; probabilities.len()];
    for index in &order[..accepted] {
        found[*index] = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_paper_rejects_its_first_four() {
        let probabilities = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let found = discoveries(&probabilities, 0.05);
        assert_eq!(found.iter().filter(|found| **found).count(), 4);
        assert!(found[..4].iter().all(|found| *found));
    }

    #[test]
    fn a_later_rank_that_fits_takes_the_earlier_ones_along() {
        assert_eq!(discoveries(&[0.04, 0.03, 0.9], 0.06), [true, true, false]);
        assert_eq!(discoveries(&[0.04, 0.9, 0.9], 0.06), [false; 3]);
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        assert_eq!(discoveries(&[], 0.05), Vec::<bool>::new());
    }
}
