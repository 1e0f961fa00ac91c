//! Every random choice of a world, from its seed.

use std::ops::RangeInclusive;

/// `SplitMix64`: tiny, good enough for choices, and every seed starts a different sequence.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `range`, both ends included.
    pub(crate) fn within(&mut self, range: RangeInclusive<i64>) -> i64 {
        let (low, high) = range.into_inner();
        let width = high.abs_diff(low).saturating_add(1);
        low.saturating_add_unsigned(self.next() % width)
    }

    /// True so many times in a hundred.
    pub(crate) fn percent(&mut self, chance: i64) -> bool {
        self.within(1..=100) <= chance
    }

    /// One of `choices`, which must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let index = self.index(choices.len());
        &choices[index]
    }

    /// A position in something of this length, which must not be 0.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        usize::try_from(self.next() % length).expect("less than a length")
    }
}
