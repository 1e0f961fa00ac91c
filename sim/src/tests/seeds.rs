//! The seeds of the test command.

use crate::{Options, run, run_jobs};

/// As many as `cargo test` runs, and the sabotage tests may need.
pub(super) const SEEDS: u64 = 1_000;
const PARTS: u64 = 4;

fn check(part: u64) {
    let size = SEEDS / PARTS;
    for seed in part * size + 1..=(part + 1) * size {
        let outcome = run(seed, Options::default());
        if let Some(failure) = outcome.describe() {
            panic!("{failure}");
        }
    }
}

#[test]
fn seeds_of_the_first_quarter_keep_their_promises() {
    check(0);
}

#[test]
fn seeds_of_the_second_quarter_keep_their_promises() {
    check(1);
}

#[test]
fn seeds_of_the_third_quarter_keep_their_promises() {
    check(2);
}

#[test]
fn seeds_of_the_last_quarter_keep_their_promises() {
    check(3);
}

#[test]
fn a_seed_gives_the_same_trace_twice() {
    for seed in [1, 2, 3, 77, 4_711] {
        let first = run(seed, Options::default());
        let second = run(seed, Options::default());
        assert_eq!(first.hash, second.hash, "seed {seed}");
        assert_eq!(first.steps, second.steps, "seed {seed}");
    }
}

#[test]
fn two_seeds_give_different_traces() {
    let one = run(1, Options::default());
    let other = run(2, Options::default());
    assert_ne!(one.hash, other.hash);
}

#[test]
fn a_world_has_at_least_twenty_faults() {
    for seed in 1..=20 {
        let outcome = run_jobs(seed, Options::default());
        assert!(outcome.faults >= 20, "seed {seed} has {}", outcome.faults);
    }
}
