//! Student's t distribution.

use super::gamma::{beta_fraction, ln_half_step};
use super::normal;

/// Newton's method gains half of its digits in the last step; a few more than it ever takes.
const MAX_STEPS: u32 = 200;

/// The probability of a value above `t`, for `t` from 0, at `freedom` degrees of freedom.
pub(crate) fn upper_tail(t: f64, freedom: f64) -> f64 {
    let square = t * t;
    // The two shares are computed apart: their difference from 1 would lose digits.
    let near = square / (freedom + square);
    let far = freedom / (freedom + square);
    let half = freedom / 2.0;
    let front =
        (ln_half_step(half) + half * far.ln()).exp() * near.sqrt() / std::f64::consts::PI.sqrt();
    if far < (half + 1.0) / (half + 2.5) {
        0.5 * front * beta_fraction(half, 0.5, far) / half
    } else {
        0.5 - front * beta_fraction(0.5, half, near)
    }
}

/// The value below which a share `probability` lies, for 1/2 <= `probability` < 1.
pub(crate) fn quantile(probability: f64, freedom: f64) -> f64 {
    let tail = 1.0 - probability;
    if tail >= 0.5 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while upper_tail(high, freedom) > tail {
        low = high;
        high *= 2.0;
    }
    let mut t = normal::quantile(probability).clamp(low, high);
    for _ in 0..MAX_STEPS {
        let excess = upper_tail(t, freedom) - tail;
        if excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let newton = t + excess / density(t, freedom);
        let next = if newton > low && newton < high {
            newton
        } else {
            0.5 * (low + high)
        };
        if (next - t).abs() <= 1e-15 * t.abs() {
            return next;
        }
        t = next;
    }
    t
}

fn density(t: f64, freedom: f64) -> f64 {
    let ln = ln_half_step(freedom / 2.0)
        - 0.5 * (freedom * std::f64::consts::PI).ln()
        - 0.5 * (freedom + 1.0) * (t * t / freedom).ln_1p();
    ln.exp()
}
