//! Chance that repeats itself: the same seed gives the same numbers for ever, on every machine.

/// `SplitMix64`. Good enough to shuffle and to resample; nothing here is a secret.
#[derive(Clone, Debug)]
pub(crate) struct Seeded(u64);

impl Seeded {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`, which is not 0. The bias of the multiplication is below one part in 2^40 for any sample.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.next()) * bound as u128;
        usize::try_from(wide >> 64).expect("it is below the bound")
    }

    pub(crate) fn shuffle(&mut self, values: &mut [usize]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_keeps_every_member_and_repeats_itself() {
        let shuffled = |seed| {
            let mut values: Vec<usize> = (0..50).collect();
            Seeded::new(seed).shuffle(&mut values);
            values
        };
        assert_eq!(shuffled(1), shuffled(1));
        assert_ne!(shuffled(1), shuffled(2));
        let mut sorted = shuffled(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn every_number_below_the_bound_comes_up_and_none_above() {
        let mut seeded = Seeded::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[seeded.below(5)] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
