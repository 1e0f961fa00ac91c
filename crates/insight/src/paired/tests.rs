use super::*;
use crate::statistics::normal;
use crate::statistics::seeded::Seeded;

/// Timings of one program with normal noise of this spread, each a little like the last, on a host that drifts.
fn timings(count: usize, seed: u64, spread: f64, memory: f64) -> Vec<f64> {
    let mut chance = Seeded::new(seed);
    let mut state = 0.0;
    let fresh = (1.0 - memory * memory).sqrt();
    (0..count)
        .map(|turn| {
            let uniform = (float(chance.below(1_000_000)) + 0.5) / 1_000_000.0;
            state = memory * state + fresh * normal::quantile(uniform);
            100.0 * (1.0 + 1e-4 * float(turn)) * (spread * state).exp()
        })
        .collect()
}

/// The head takes so much longer.
fn slowed(mut timings: Vec<f64>, share: f64) -> Vec<f64> {
    for (turn, timing) in timings.iter_mut().enumerate() {
        if side_of_turn(turn) == Side::Head {
            *timing *= 1.0 + share;
        }
    }
    timings
}

fn verdict(timings: &[f64]) -> Verdict {
    self_check(timings, PairedSettings::default())
        .unwrap()
        .verdict
}

#[test]
fn turns_go_base_head_head_base() {
    let sides: Vec<Side> = (0..8).map(side_of_turn).collect();
    let block = [Side::Base, Side::Head, Side::Head, Side::Base];
    assert_eq!(sides, [block, block].concat());
}

#[test]
fn a_steady_drift_cancels_out() {
    let mut paired = Paired::new(PairedSettings::default());
    let base: f64 = 1.01;
    for block in 0..10 {
        let turn = |turn: i32| base.powi(4 * block + turn);
        paired.add([turn(0), turn(1), turn(2), turn(3)]).unwrap();
    }
    assert!(paired.report().effect.abs() < 1e-12);
}

#[test]
fn equal_programs_are_called_different_in_less_than_one_of_a_hundred_runs() {
    let wrong = (0..1_000)
        .filter(|seed| {
            let timings = timings(120, *seed, 0.02, 0.6);
            matches!(verdict(&timings), Verdict::Faster | Verdict::Slower)
        })
        .count();
    assert!(wrong <= 10, "{wrong} of 1,000");
}

#[test]
fn three_percent_is_found_with_sixty_pairs_at_two_percent_of_noise() {
    let found = (0..500)
        .filter(|seed| verdict(&slowed(timings(120, *seed, 0.02, 0.3), 0.03)) == Verdict::Slower)
        .count();
    assert!(found >= 475, "{found} of 500");
}

#[test]
fn a_large_difference_ends_the_run_early() {
    let timings = slowed(timings(120, 3, 0.005, 0.3), 0.2);
    let report = self_check(&timings, PairedSettings::default()).unwrap();
    assert_eq!(report.verdict, Verdict::Slower);
    assert!(report.pairs <= 20, "{report:?}");
}

#[test]
fn an_interval_that_may_be_looked_at_all_the_time_is_wider_than_one_for_a_single_look() {
    let mut paired = Paired::new(PairedSettings::default());
    for block in timings(120, 1, 0.02, 0.0).as_chunks::<4>().0 {
        paired.add(*block).unwrap();
    }
    let report = paired.report();
    let (low, high) = report.interval.unwrap();
    let single = 2.0 * 2.756 * report.noise / 30_f64.sqrt();
    assert!(high - low > single, "{report:?}");
}

#[test]
fn a_few_blocks_cannot_tell() {
    let report = self_check(&[1.0, 9.0, 9.0, 1.0], PairedSettings::default()).unwrap();
    assert_eq!(
        (report.verdict, report.interval),
        (Verdict::CannotTell, None)
    );
}

#[test]
fn a_measurement_that_is_not_positive_is_refused() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut paired = Paired::new(PairedSettings::default());
        assert_eq!(paired.add([1.0, bad, 1.0, 1.0]), Err(NotPositive));
    }
}
