//! Counters, log, replay hook, latencies.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use kiln_model::Millis;

use super::stage::{ManualTime, Script, Stage, Told, arm, frame, letters, lock, put, rows, worker};
use crate::metrics::Metrics;
use crate::runner::Polled;
use crate::{Dbi, Kv, Status};

/// The golden scenario of the reference: a conflict for ever at sequence 50, in one tick.
pub fn a_conflict_for_ever_ends_as_one_dead_letter_in_one_tick<K: Kv>(kv: &K) {
    put(kv, 50, frame("m1"));
    let script = Script::fails(Status::Conflict);
    let worker = worker(kv, &script, &ManualTime::at(0), 8);
    let told = Arc::new(Told::default());
    told.listen(worker.runner());
    assert_eq!(worker.tick(), Polled::default());
    assert_eq!(script.calls().len(), 4);
    let mut expected = Vec::new();
    for seq in 50..53 {
        expected.extend([(0, seq), (1, seq), (4, seq)]);
    }
    expected.extend([(0, 53), (1, 53), (5, 53)]);
    assert_eq!(told.replay(), expected);
    let log = [
        (0, 0),
        (2, 1),
        (0, 0),
        (2, 2),
        (0, 0),
        (2, 3),
        (0, 0),
        (3, 4),
    ];
    assert_eq!(told.log(), log);
    assert_eq!(letters(kv), [(53, Status::Conflict.code(), 4)]);
    for dbi in [Dbi::INBOX, Dbi::LEASES, Dbi::DEDUPE] {
        assert!(rows(kv, dbi).is_empty(), "{dbi:?}");
    }
    let expected = Metrics {
        step_attempts: 4,
        retryable_failures: 4,
        conflict_failures: 4,
        requeues: 3,
        dead_letter_moves: 1,
        step_latency_samples: 4,
        ..Metrics::default()
    };
    assert_eq!(worker.runner().metrics(), expected);
}

pub fn metrics_count_a_non_retryable_failure_and_reset_to_zero<K: Kv>(kv: &K) {
    put(kv, 10, frame("m1"));
    let stage = Stage::new(kv, Script::fails(Status::Full));
    stage.poll(1, 0);
    let expected = Metrics {
        step_attempts: 1,
        non_retryable_failures: 1,
        requeues: 1,
        step_latency_samples: 1,
        ..Metrics::default()
    };
    assert_eq!(stage.runner.metrics(), expected);
    stage.runner.reset_metrics();
    assert_eq!(stage.runner.metrics(), Metrics::default());
}

pub fn retry_metrics_add_up<K: Kv>(kv: &K) {
    for (seq, id) in [(1, "a"), (2, "b"), (3, "c")] {
        put(kv, seq, frame(id));
    }
    let script = Script::new(|message, _, _| {
        Err(if message.id == b"a" {
            Status::Busy
        } else {
            Status::Conflict
        })
    });
    let stage = Stage::new(kv, script);
    stage.poll(100, 0);
    let metrics = stage.runner.metrics();
    assert_eq!(metrics.step_attempts, 12);
    assert_eq!(metrics.retryable_failures, metrics.step_attempts);
    assert_eq!(
        metrics.busy_failures + metrics.conflict_failures,
        metrics.retryable_failures
    );
    assert_eq!(
        metrics.requeues + metrics.dead_letter_moves,
        metrics.retryable_failures
    );
    assert_eq!(metrics.step_latency_samples, metrics.step_attempts);
}

pub fn the_replay_hook_sees_attempt_result_and_requeue<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let stage = Stage::new(kv, Script::fails_once(Status::Conflict));
    assert_eq!(stage.poll(8, 0).processed, 1);
    assert_eq!(stage.replay(), [(0, 1), (1, 1), (4, 1), (0, 2), (1, 2)]);
}

pub fn sinks_see_the_last_metrics_and_two_log_events<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let stage = Stage::new(kv, Script::fails_once(Status::Conflict));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let copies = Arc::clone(&seen);
    stage
        .runner
        .set_metrics_sink(Some(Arc::new(move |metrics: &Metrics| {
            lock(&copies).push(*metrics);
        })));
    assert_eq!(*lock(&seen), [Metrics::default()]);
    stage.poll(8, 0);
    assert_eq!(lock(&seen).last(), Some(&stage.runner.metrics()));
    assert_eq!(stage.runner.metrics().step_successes, 1);
    assert_eq!(stage.log(), [(0, 0), (2, 1)]);
    let changes = lock(&seen).len();
    stage.runner.reset_metrics();
    assert_eq!(lock(&seen).len(), changes + 1);
    assert_eq!(lock(&seen).last(), Some(&Metrics::default()));
}

pub fn a_timer_keeps_its_sequence_in_replay_events<K: Kv>(kv: &K) {
    arm(kv, 100, 41, frame("m1"));
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(stage.poll_timers(8, 100).processed, 1);
    assert_eq!(stage.replay(), [(2, 41), (3, 41)]);
}

/// The clock reads 5000 at the claim, 10000 when the step begins and 11234 when it has ended.
pub fn latency_is_measured_by_the_injected_clock<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let stage = Stage::new(kv, Script::succeeds());
    let reads = Cell::new(0);
    let clock = || {
        reads.set(reads.get() + 1);
        Millis([5000, 10_000, 11_234][(reads.get() - 1).min(2)])
    };
    stage.runner.poll_inbox(1, &clock);
    let metrics = stage.runner.metrics();
    assert_eq!(
        (metrics.step_latency_total_ms, metrics.step_latency_max_ms),
        (1234, 1234)
    );
}

pub fn a_clock_that_goes_back_gives_a_latency_of_zero<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let stage = Stage::new(kv, Script::succeeds());
    let now = Cell::new(1000);
    stage.runner.poll_inbox(1, &|| {
        now.set(now.get() - 100);
        Millis(now.get())
    });
    assert_eq!(stage.runner.metrics().step_latency_total_ms, 0);
}

/// An observer that looks into the store finds there what it was told.
pub fn events_come_after_the_commit<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let stage = Stage::new(kv, Script::fails(Status::Conflict));
    let store = kv.clone();
    let found = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&found);
    stage.runner.set_replay_hook(Some(Arc::new(
        move |event: &crate::events::ReplayEvent<'_>| {
            lock(&seen).push((event.kind.code(), super::stage::inbox_seqs(&store)));
        },
    )));
    stage.poll(1, 0);
    assert_eq!(*lock(&found), [(0, vec![2]), (1, vec![2]), (4, vec![2])]);
}
