//! What a comparison ends with.

use std::fmt;

use serde::Serialize;

use crate::threshold::Direction;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better, in the direction of the measure.
    Faster,
    Slower,
    /// If there is a difference, it is smaller than the gate.
    Same,
    CannotTell,
}

/// An effect on the scale of logarithms with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) effect: f64,
    pub(crate) half_width: f64,
}

impl Estimate {
    /// Faster or slower needs both an interval without zero and an effect of at least the gate; the same needs an
    /// interval that lies within the gate.
    pub(crate) fn verdict(self, gate: f64, direction: Direction) -> Verdict {
        let differs = self.effect.abs() > self.half_width;
        let gate = gate.ln_1p();
        if differs && self.effect.abs() >= gate {
            let grew = self.effect > 0.0;
            let better = grew == (direction == Direction::LargerIsBetter);
            return if better {
                Verdict::Faster
            } else {
                Verdict::Slower
            };
        }
        if self.effect.abs() + self.half_width <= gate {
            Verdict::Same
        } else {
            Verdict::CannotTell
        }
    }

    /// As shares: how much the head is above the base, and between which bounds.
    pub(crate) fn shares(self) -> (f64, f64, f64) {
        (
            self.effect.exp_m1(),
            (self.effect - self.half_width).exp_m1(),
            (self.effect + self.half_width).exp_m1(),
        )
    }
}

impl Verdict {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::CannotTell => "cannot_tell",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(effect: f64, half_width: f64, expected: Verdict) {
        let estimate = Estimate { effect, half_width };
        assert_eq!(estimate.verdict(0.02, Direction::SmallerIsBetter), expected);
    }

    #[test]
    fn a_verdict_needs_certainty_and_size() {
        check(0.03, 0.01, Verdict::Slower);
        check(-0.03, 0.01, Verdict::Faster);
        check(0.03, 0.04, Verdict::CannotTell);
        check(0.005, 0.004, Verdict::Same);
        check(0.0, 0.01, Verdict::Same);
        check(0.015, 0.01, Verdict::CannotTell);
    }

    #[test]
    fn more_is_faster_where_larger_is_better() {
        let estimate = Estimate {
            effect: 0.1,
            half_width: 0.01,
        };
        assert_eq!(
            estimate.verdict(0.02, Direction::LargerIsBetter),
            Verdict::Faster
        );
    }
}
