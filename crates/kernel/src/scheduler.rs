//! How long to sleep when there is nothing to do.

use kiln_model::Millis;

/// Milliseconds from `now` to `next`, at most `cap_ms` (0 = no cap), and never more than 32 bits hold.
pub fn sleep_ms(now: Millis, next: Millis, cap_ms: u32) -> u32 {
    let cap = if cap_ms == 0 { u32::MAX } else { cap_ms };
    // The distance between two times may need one bit more than a time has.
    let wait = i128::from(next.0) - i128::from(now.0);
    u32::try_from(wait.max(0)).unwrap_or(u32::MAX).min(cap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_ends_at_the_next_timer_or_at_the_cap() {
        let check = |now, next, cap, expected| {
            assert_eq!(
                sleep_ms(Millis(now), Millis(next), cap),
                expected,
                "{now} {next} {cap}"
            );
        };
        check(100, 150, 1000, 50);
        check(150, 150, 1000, 0);
        check(200, 150, 1000, 0);
        check(100, 5000, 200, 200);
        check(100, 5000, 0, 4900);
        check(0, i64::MAX, 0, u32::MAX);
        check(i64::MIN, i64::MAX, 0, u32::MAX);
    }
}
