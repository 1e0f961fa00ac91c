//! Counts as real numbers and back, in one place.

/// A count as a real number. Samples are far smaller than 2^53, where that would be inexact.
#[expect(clippy::cast_precision_loss, reason = "no sample has 2^53 members")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

/// The largest index that is not above `position`; a negative position is 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and callers bound the index by their slice"
)]
pub(crate) fn floor_index(position: f64) -> usize {
    position.max(0.0) as usize
}
