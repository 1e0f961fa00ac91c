//! What QEMU's machines are restored from.

use std::time::Duration;

use kiln_sandbox::{CancelToken, Layer, Outcome, Transcript};

use crate::place::{Place, qemu};
use crate::support::{limits, shell, spec};

#[test]
fn only_a_chamber_that_runs_again_is_sealed_ahead_and_no_layer_is_lost_by_it() {
    let mut chamber = qemu().prepare(&spec());
    let mut runs: Vec<Vec<Layer>> = Vec::new();
    for another in [false, true, false] {
        chamber.expect_another(another);
        let finished = Place::run_in(&mut *chamber, &shell("true"));
        runs.push(finished.exit.sealed.layers);
    }
    chamber.destroy().unwrap();
    let starts: Vec<String> = runs.iter_mut().map(take_start).collect();
    let sealed = "from a template with its chamber sealed";
    assert_eq!(starts, ["from a template", sealed, sealed]);
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0], runs[2]);
}

#[test]
fn a_cancel_while_a_chamber_is_sealed_ahead_runs_nothing() {
    let mut chamber = qemu().prepare(&spec());
    chamber.expect_another(true);
    let cancel = CancelToken::new().unwrap();
    cancel.cancel();
    let mut transcript = Transcript::default();
    let exit = chamber
        .run(&shell("echo ran"), &limits(), &mut transcript, &cancel)
        .unwrap();
    assert_eq!(exit.outcome, Outcome::Canceled);
    assert!(transcript.stdout.is_empty());
    // It was no fault of the machine's: the next run has what this one did not.
    let finished = Place::run_in(&mut *chamber, &shell("echo ran"));
    assert_eq!(finished.stdout, "ran\n");
    chamber.destroy().unwrap();
}

#[test]
fn a_machine_that_was_sealed_long_ago_knows_what_time_it_is() {
    let place = qemu().with_its_own_clock();
    let mut chamber = place.prepare(&spec());
    chamber.expect_another(true);
    let mut tell_time = || -> u64 {
        let stdout = Place::run_in(&mut *chamber, &shell("date +%s")).stdout;
        stdout.trim().parse().unwrap()
    };
    let before = tell_time();
    place.clock.jump(Duration::from_hours(1));
    let after = tell_time();
    assert!(after >= before + 3600, "{before} and {after}");
    chamber.destroy().unwrap();
}

/// How a machine came to life, taken out of its layers.
fn take_start(layers: &mut Vec<Layer>) -> String {
    let at = layers.iter().position(|layer| layer.name == "start");
    layers.remove(at.unwrap()).detail
}
