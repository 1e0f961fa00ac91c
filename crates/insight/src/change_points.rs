//! Where a series changed: the E-divisive method (Matteson and James, 2014) with a permutation test.
//!
//! A split of a segment in two is scored by the energy distance of its sides: how much farther values of different sides lie
//! from one another than values of the same side. The best split counts when hardly any shuffle of the segment has one as
//! good; then both sides are looked at in turn. Shuffles are seeded by where the segment lies, so the same series
//! gives the same answer for ever.

use std::ops::Range;

use crate::statistics::number::float;
use crate::statistics::sample::{median, sorted};
use crate::statistics::seeded::Seeded;

/// The most points that are looked at together; the work grows with their square.
const MAX_POINTS: usize = 500;
/// A series is looked at as it grew, in steps of so many points. So what was found in its beginning stays found, however long it
/// becomes, and does not depend on when anybody asked.
const STEP: usize = MAX_POINTS / 2;

#[derive(Clone, Copy, Debug)]
pub struct ChangeSettings {
    /// The fewest points between two changes.
    pub min_segment: usize,
    /// How often chance alone may have a split as good.
    pub significance: f64,
    pub permutations: usize,
    pub seed: u64,
}

impl Default for ChangeSettings {
    fn default() -> Self {
        Self {
            min_segment: 5,
            significance: 0.01,
            permutations: 199,
            seed: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first point after the change.
    pub index: usize,
    /// The medians of the segments on its two sides.
    pub before: f64,
    pub after: f64,
    /// How often a shuffle of the segment had a split as good.
    pub probability: f64,
}

/// The changes of the beginning of a series, up to a whole step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settled {
    length: usize,
    changes: Vec<ChangePoint>,
}

impl Settled {
    /// How many points it is about.
    pub const fn length(&self) -> usize {
        self.length
    }
}

/// The changes of a series, oldest point first.
pub fn change_points(series: &[f64], settings: ChangeSettings) -> Vec<ChangePoint> {
    grow_change_points(&mut Settled::default(), series, settings)
}

/// The same for a series that has grown, given what is settled about its beginning, which is brought up to date.
pub fn grow_change_points(
    settled: &mut Settled,
    series: &[f64],
    settings: ChangeSettings,
) -> Vec<ChangePoint> {
    while settled.length + STEP < series.len() {
        settled.length += STEP;
        settled.changes = extend(&settled.changes, &series[..settled.length], settings);
    }
    extend(&settled.changes, series, settings)
}

/// The changes of a series, given those of its beginning. What lies before the last known change but one, or too far back, is
/// settled: only the points after it are looked at again.
fn extend(known: &[ChangePoint], series: &[f64], settings: ChangeSettings) -> Vec<ChangePoint> {
    let last_but_one = known.iter().rev().nth(1);
    let start = last_but_one.map_or(0, |change| change.index);
    let start = start.max(series.len().saturating_sub(MAX_POINTS));
    let mut splits: Vec<Split> = known
        .iter()
        .filter(|change| change.index <= start)
        .map(|change| Split {
            index: change.index,
            probability: change.probability,
        })
        .collect();
    divide(series, start..series.len(), settings, &mut splits);
    splits.sort_by_key(|split| split.index);
    describe(series, &splits)
}

#[derive(Clone, Copy, Debug)]
struct Split {
    index: usize,
    probability: f64,
}

fn divide(series: &[f64], segment: Range<usize>, settings: ChangeSettings, found: &mut Vec<Split>) {
    let values = &series[segment.clone()];
    let Some(best) = best_split(values, settings.min_segment) else {
        return;
    };
    let Some(probability) = probability(values, best.score, segment.start, settings) else {
        return;
    };
    let index = segment.start + best.place;
    found.push(Split { index, probability });
    divide(series, segment.start..index, settings, found);
    divide(series, index..segment.end, settings, found);
}

/// How often a shuffle has a split as good; nothing when that is too often to count.
fn probability(values: &[f64], score: f64, place: usize, settings: ChangeSettings) -> Option<f64> {
    let place = u64::try_from(place).unwrap_or(u64::MAX);
    let mut chance = Seeded::new(settings.seed ^ place.rotate_left(32) ^ values.len() as u64);
    let all = float(settings.permutations + 1);
    let mut order: Vec<usize> = (0..values.len()).collect();
    // The series itself is one of the orders.
    let mut as_good = 1.0;
    for _ in 0..settings.permutations {
        chance.shuffle(&mut order);
        let shuffled: Vec<f64> = order.iter().map(|index| values[*index]).collect();
        let rival = best_split(&shuffled, settings.min_segment);
        if rival.is_some_and(|rival| rival.score >= score) {
            as_good += 1.0;
            // No later shuffle can make this one significant.
            if as_good / all > settings.significance {
                return None;
            }
        }
    }
    let probability = as_good / all;
    (probability <= settings.significance).then_some(probability)
}

#[derive(Clone, Copy, Debug)]
struct Scored {
    place: usize,
    score: f64,
}

/// The split whose left side differs most from what follows it, up to the end or up to where it changes again.
fn best_split(values: &[f64], min_segment: usize) -> Option<Scored> {
    let least = min_segment.max(2);
    let sums = DistanceSums::of(values);
    let mut within_left = 0.0;
    let mut best: Option<Scored> = None;
    for place in 1..values.len() {
        within_left += sums.to(place - 1, 0..place - 1);
        if place < least {
            continue;
        }
        let (mut between, mut within_right) = (0.0, 0.0);
        for last in place..values.len() {
            between += sums.to(last, 0..place);
            within_right += sums.to(last, place..last);
            let length = last + 1 - place;
            if length < least {
                continue;
            }
            let score = energy(place, length, between, within_left, within_right);
            if best.is_none_or(|best| score > best.score) {
                best = Some(Scored { place, score });
            }
        }
    }
    best.filter(|best| best.score > 0.0)
}

fn energy(left: usize, right: usize, between: f64, within_left: f64, within_right: f64) -> f64 {
    let (m, n) = (float(left), float(right));
    let distance = 2.0 * between / (m * n)
        - 2.0 * within_left / (m * (m - 1.0))
        - 2.0 * within_right / (n * (n - 1.0));
    distance * m * n / (m + n)
}

/// Sums of distances from one point to a range of points, each in one step.
struct DistanceSums {
    count: usize,
    /// Row by row: the sum of the distances from a point to the first so many.
    prefix: Vec<f64>,
}

impl DistanceSums {
    fn of(values: &[f64]) -> Self {
        let count = values.len();
        let mut prefix = Vec::with_capacity(count * (count + 1));
        for from in values {
            let mut sum = 0.0;
            prefix.push(sum);
            for to in values {
                sum += (from - to).abs();
                prefix.push(sum);
            }
        }
        Self { count, prefix }
    }

    fn to(&self, point: usize, others: Range<usize>) -> f64 {
        let row = point * (self.count + 1);
        self.prefix[row + others.end] - self.prefix[row + others.start]
    }
}

fn describe(series: &[f64], splits: &[Split]) -> Vec<ChangePoint> {
    let middle = |range: Range<usize>| median(&sorted(&series[range]));
    let bound = |place: usize| splits.get(place).map(|split| split.index);
    splits
        .iter()
        .enumerate()
        .map(|(place, split)| {
            let start = place.checked_sub(1).and_then(bound).unwrap_or(0);
            let end = bound(place + 1).unwrap_or(series.len());
            ChangePoint {
                index: split.index,
                before: middle(start..split.index),
                after: middle(split.index..end),
                probability: split.probability,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
