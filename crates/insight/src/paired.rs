//! Two programs that take turns on one host, compared as the turns go on.
//!
//! Turns come in blocks of four: base, head, head, base. Within a block a steady drift of the host hits both sides alike, so a
//! block yields one number, the logarithm of head by base, that is free of it. After every block the numbers so far are put to a
//! test that may be looked at as often as one likes: the mixture of t tests over all effect sizes, whose Bayes factor is a
//! martingale when nothing differs, so that it ever exceeds `1 / error_rate` with at most that probability
//! (Robbins; Lai, 1976). Inverted, it is an interval that holds the true effect at every block at once, and the run may stop
//! as soon as the interval has decided.

mod turns;

use serde::Serialize;

use crate::statistics::number::float;
use crate::statistics::sample::{lag_one_correlation, mean, standard_deviation};
use crate::threshold::Direction;
use crate::verdict::{Estimate, Verdict};

pub use turns::{Line, LineReport, Turns, TurnsSettings};

/// One turn in four.
pub const TURNS_OF_A_BLOCK: usize = 4;
/// Fewer blocks do not know their own spread.
const MIN_BLOCKS: usize = 5;
/// How far the correlation of neighbouring blocks is believed; beyond, the host is no place to measure.
const MAX_CORRELATION: f64 = 0.8;
/// The typical effect, in standard deviations of a block, that the mixture is tuned to. Any value is valid.
const TYPICAL_EFFECT: f64 = 1.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Base,
    Head,
}

#[derive(Clone, Copy, Debug)]
pub struct PairedSettings {
    /// The least difference that matters, as a share of the base.
    pub gate: f64,
    /// How often equal programs may be called different.
    pub error_rate: f64,
    pub direction: Direction,
}

impl Default for PairedSettings {
    fn default() -> Self {
        Self {
            gate: 0.02,
            error_rate: 0.01,
            direction: Direction::SmallerIsBetter,
        }
    }
}

/// What is known after some blocks. Differences are shares of the base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairedReport {
    /// Two for each block.
    pub pairs: usize,
    pub effect: f64,
    /// Valid at every block at once; nothing before there are enough blocks.
    pub interval: Option<(f64, f64)>,
    pub verdict: Verdict,
    /// The spread of a block's ratio, as a share.
    pub noise: f64,
    /// How much each block is like the one before it.
    pub correlation: f64,
}

/// The blocks so far.
#[derive(Clone, Debug)]
pub struct Paired {
    settings: PairedSettings,
    ratios: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a paired measurement is a positive, finite number")]
pub struct NotPositive;

/// Whose turn it is, counting turns from 0.
pub const fn side_of_turn(turn: usize) -> Side {
    match turn % TURNS_OF_A_BLOCK {
        0 | 3 => Side::Base,
        _ => Side::Head,
    }
}

impl Paired {
    pub fn new(settings: PairedSettings) -> Self {
        Self {
            settings,
            ratios: Vec::new(),
        }
    }

    /// Adds the four measurements of a block in the order of their turns.
    pub fn add(&mut self, block: [f64; TURNS_OF_A_BLOCK]) -> Result<(), NotPositive> {
        if block
            .iter()
            .any(|value| !value.is_finite() || *value <= 0.0)
        {
            return Err(NotPositive);
        }
        let [base, head, other_head, other_base] = block.map(f64::ln);
        self.ratios
            .push(f64::midpoint(head, other_head) - f64::midpoint(base, other_base));
        Ok(())
    }

    /// Whether more blocks could still change the verdict: until it is another than "cannot tell".
    pub fn is_decided(&self) -> bool {
        self.report().verdict != Verdict::CannotTell
    }

    pub fn report(&self) -> PairedReport {
        let count = self.ratios.len();
        let effect = if count == 0 { 0.0 } else { mean(&self.ratios) };
        let enough = count >= MIN_BLOCKS;
        let (noise, correlation) = if enough {
            (
                standard_deviation(&self.ratios),
                lag_one_correlation(&self.ratios),
            )
        } else {
            (0.0, 0.0)
        };
        let estimate = enough
            .then(|| self.half_width(noise, correlation))
            .flatten()
            .map(|half_width| Estimate { effect, half_width });
        PairedReport {
            pairs: count * 2,
            effect: effect.exp_m1(),
            interval: estimate.map(|estimate| {
                let (_, low, high) = estimate.shares();
                (low, high)
            }),
            verdict: estimate.map_or(Verdict::CannotTell, |estimate| {
                estimate.verdict(self.settings.gate, self.settings.direction)
            }),
            noise,
            correlation,
        }
    }

    /// Half the width of the interval: those effects whose Bayes factor stays below `1 / error_rate`.
    fn half_width(&self, noise: f64, correlation: f64) -> Option<f64> {
        let count = float(self.ratios.len());
        let freedom = count - 1.0;
        let mixture = 1.0 + count * TYPICAL_EFFECT * TYPICAL_EFFECT;
        let level = (mixture.sqrt() / self.settings.error_rate).powf(2.0 / count);
        if level >= mixture {
            return None;
        }
        let square = freedom * (level - 1.0) / (1.0 - level / mixture);
        // Blocks that resemble their neighbours say less than their number; the estimate of that is low by 1 / count.
        let correlation = (correlation + 1.0 / count).clamp(0.0, MAX_CORRELATION);
        let stretch = ((1.0 + correlation) / (1.0 - correlation)).sqrt();
        Some(square.sqrt() * stretch * noise / count.sqrt())
    }
}

/// The self-check: measurements of one program, dealt out as if they were two. Anything but "same" or "cannot tell" says that
/// the host is no place to measure.
pub fn self_check(
    measurements: &[f64],
    settings: PairedSettings,
) -> Result<PairedReport, NotPositive> {
    let mut paired = Paired::new(settings);
    let (blocks, _) = measurements.as_chunks::<TURNS_OF_A_BLOCK>();
    for block in blocks {
        paired.add(*block)?;
        if paired.is_decided() {
            break;
        }
    }
    Ok(paired.report())
}

#[cfg(test)]
mod tests;
