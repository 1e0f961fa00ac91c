//! For each guard: without it the simulator names the promise that breaks, and with it the same seeds pass.

use kiln_control::sabotage::{Guard, without};
use kiln_kernel::sabotage::{Switch, switch_on};

use super::seeds::SEEDS;
use crate::{Options, Outcome, Violation, run_jobs, run_kernel};

/// Looks for the first seed that breaks something under `sabotage`, asserts that it is `invariant`, and that the seeds up to
/// it keep their promises without.
fn check(invariant: &str, sabotage: impl Fn(u64) -> Outcome, intact: impl Fn(u64) -> Outcome) {
    check_among(&[invariant], sabotage, intact);
}

/// The same where the guard keeps more than one promise: seeds that break one of the others first are passed over.
fn check_among(
    invariants: &[&str],
    sabotage: impl Fn(u64) -> Outcome,
    intact: impl Fn(u64) -> Outcome,
) {
    let wanted = invariants[0];
    for seed in 1..=SEEDS {
        assert_eq!(intact(seed).violation, None, "seed {seed}");
        let Some(Violation { invariant, detail }) = sabotage(seed).violation else {
            continue;
        };
        assert!(
            invariants.contains(&invariant),
            "seed {seed} breaks {invariant}, not {wanted}: {detail}"
        );
        if invariant == wanted {
            return;
        }
    }
    panic!("{SEEDS} seeds, and nobody noticed that {wanted} has no guard");
}

fn jobs(seed: u64) -> Outcome {
    run_jobs(seed, Options::default())
}

fn kernel(seed: u64) -> Outcome {
    run_kernel(seed, Options::default())
}

fn kernel_with(switch: Switch) -> impl Fn(u64) -> Outcome {
    move |seed| {
        let _broken = switch_on(switch);
        kernel(seed)
    }
}

#[test]
fn an_epoch_that_does_not_grow_breaks_i1() {
    check(
        "I1",
        |seed| without(Guard::EpochGrowth, || jobs(seed)),
        jobs,
    );
}

#[test]
fn words_that_are_not_fenced_break_i2() {
    check("I2", |seed| without(Guard::Fencing, || jobs(seed)), jobs);
}

#[test]
fn set_up_that_is_billed_breaks_b1() {
    check(
        "B1",
        |seed| without(Guard::BillFromStart, || jobs(seed)),
        jobs,
    );
}

#[test]
fn a_claim_that_does_not_look_at_the_other_slots_breaks_them() {
    // The claim order says the same in its own words, and is asked first.
    check_among(
        &["I12", "slots"],
        |seed| without(Guard::Exclusivity, || jobs(seed)),
        jobs,
    );
}

#[test]
fn an_acknowledgement_before_the_commit_breaks_i5() {
    let early = Options {
        acknowledge_early: true,
        ..Options::default()
    };
    check("I5", |seed| run_jobs(seed, early), jobs);
}

#[test]
fn effects_outside_the_transaction_break_k2() {
    // The dedupe record is one of the things that commit together.
    check_among(
        &["K2", "K4"],
        kernel_with(Switch::ApplyOutsideTransaction),
        kernel,
    );
}

#[test]
fn timers_that_fire_early_break_k3() {
    check("K3", kernel_with(Switch::FireEarly), kernel);
}

#[test]
fn timers_that_ignore_their_cancellation_break_k3() {
    check("K3", kernel_with(Switch::ForgetTimerCancel), kernel);
}

#[test]
fn a_budget_that_is_ignored_breaks_k5() {
    check("K5", kernel_with(Switch::IgnoreBudget), kernel);
}
