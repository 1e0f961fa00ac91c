//! How long to wait before trying again.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);

/// Doubles with each attempt, up to the longest. Between half and all of it is waited, by `jitter`, so that runners that
/// lost their server together do not come back together.
pub(super) fn delay(attempts: u32, jitter: u32, longest: Duration) -> Duration {
    let longest = FIRST
        .saturating_mul(2_u32.saturating_pow(attempts))
        .min(longest);
    let half = longest / 2;
    half + half.mul_f64(f64::from(jitter) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(30);

    #[test]
    fn the_delay_doubles_up_to_its_limit() {
        let seconds = |attempts| delay(attempts, u32::MAX, LONGEST).as_secs();
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 60].map(seconds),
            [1, 2, 4, 8, 16, 30, 30]
        );
    }

    #[test]
    fn jitter_takes_off_at_most_half() {
        assert_eq!(delay(3, 0, LONGEST), Duration::from_secs(4));
        assert_eq!(delay(u32::MAX, 0, LONGEST), Duration::from_secs(15));
    }
}
