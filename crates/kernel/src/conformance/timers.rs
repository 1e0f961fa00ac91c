//! Timers: order, due times, retries, cancellation.

use kiln_model::Millis;

use super::stage::{
    Script, Stage, arm, frame, frame_to, get, letters, other_runner, put, rows, timer_keys,
};
use crate::keys::retry_key;
use crate::policy::Policy;
use crate::runner::Polled;
use crate::{Dbi, Kind, Kv, KvTx, Message, Slot, Status, TimerKey, timers};

pub fn only_due_timers_run_in_the_order_of_their_due_times<K: Kv>(kv: &K) {
    for (due, seq) in [(110, 0), (100, 2), (100, 1), (90, 7)] {
        arm(kv, due, seq, frame(&format!("{due}/{seq}")));
    }
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(
        stage.poll_timers(8, 100),
        Polled {
            processed: 3,
            failure: None
        }
    );
    assert_eq!(stage.script.calls(), ["90/7", "100/1", "100/2"]);
    assert_eq!(timer_keys(kv), [(110, 0)]);
    assert!(rows(kv, Dbi::LEASES).is_empty());
    assert_eq!(stage.poll_timers(8, 109).processed, 0);
    assert_eq!(stage.poll_timers(8, 110).processed, 1);
}

pub fn a_timer_is_never_overwritten_and_arming_finds_the_next_sequence<K: Kv>(kv: &K) {
    arm(kv, 100, 0, frame("m1"));
    let taken = kv.write(|tx| timers::append(tx, Millis(100), 0, b"other"));
    assert_eq!(taken, Err(Status::Exists));
    let arm = |due| {
        kv.write(move |tx| timers::arm(tx, Millis(due), b"frame"))
            .unwrap()
    };
    assert_eq!(arm(100), TimerKey::new(Millis(100), 1));
    assert_eq!(arm(101), TimerKey::new(Millis(101), 0));
    assert_eq!(arm(-1), TimerKey::new(Millis(-1), 0));
    assert_eq!(arm(-1), TimerKey::new(Millis(-1), 1));
    assert_eq!(arm(i64::MAX), TimerKey::new(Millis::MAX, 0));
    assert_eq!(arm(i64::MAX), TimerKey::new(Millis::MAX, 1));
}

pub fn the_next_due_time_moves_on_as_timers_are_drained<K: Kv>(kv: &K) {
    arm(kv, 150, 0, frame("later"));
    arm(kv, 100, 0, frame("soon"));
    let next = || kv.read(timers::next_due).unwrap();
    let drain = |now| kv.write(move |tx| timers::drain(tx, Millis(now), 9, |_, _, _| Ok(())));
    assert_eq!(next(), Some(Millis(100)));
    assert_eq!(drain(100).unwrap().processed, 1);
    assert_eq!(next(), Some(Millis(150)));
    assert_eq!(drain(200).unwrap().processed, 1);
    assert_eq!(next(), None);
}

pub fn a_plain_drain_stops_at_a_refusal_and_notices_what_changed<K: Kv>(kv: &K) {
    for seq in 0..3 {
        arm(kv, 100, seq, frame(&format!("m{seq}")));
    }
    let drained = kv
        .write(|tx| {
            timers::drain(tx, Millis(100), 9, |_, key, _| {
                if key.seq == 1 {
                    Err(Status::Busy)
                } else {
                    Ok(())
                }
            })
        })
        .unwrap();
    assert_eq!(
        (drained.processed, drained.stopped_by),
        (1, Some(Status::Busy))
    );
    let drained = kv
        .write(|tx| {
            timers::drain(tx, Millis(100), 9, |tx, key, _| {
                timers::cancel(tx, key).map(drop)
            })
        })
        .unwrap();
    assert_eq!(drained.stopped_by, Some(Status::NotFound));
    let drained = kv
        .write(|tx| {
            timers::drain(tx, Millis(100), 9, |tx, key, _| {
                tx.put(Dbi::TIMERS, &key.to_bytes(), b"changed")
            })
        })
        .unwrap();
    assert_eq!(drained.stopped_by, Some(Status::Conflict));
}

pub fn a_cancelled_timer_never_fires<K: Kv>(kv: &K) {
    let key = TimerKey::new(Millis(100), 0);
    arm(kv, 100, 0, frame("m1"));
    assert!(kv.write(move |tx| timers::cancel(tx, key)).unwrap());
    assert!(!kv.write(move |tx| timers::cancel(tx, key)).unwrap());
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(stage.poll_timers(8, 200), Polled::default());
}

pub fn a_timer_cancelled_while_it_is_prepared_does_not_fire<K: Kv>(kv: &K) {
    let key = TimerKey::new(Millis(100), 0);
    arm(kv, 100, 0, frame("m1"));
    let other = kv.clone();
    let script = Script::with_prepare(
        move |_, _| other.write(move |tx| timers::cancel(tx, key)).map(drop),
        |_, _, _| Ok(()),
    );
    let stage = Stage::new(kv, script);
    assert_eq!(stage.poll_timers(8, 200), Polled::default());
    assert!(stage.script.calls().is_empty());
    assert_eq!(stage.runner.metrics().lost_claims, 1);
    for dbi in [Dbi::TIMERS, Dbi::LEASES, Dbi::DEDUPE] {
        assert!(rows(kv, dbi).is_empty(), "{dbi:?}");
    }
}

/// A worker that died in the middle leaves a lease; cancelling takes it away with the timer.
pub fn a_cancelled_timer_leaves_no_lease_behind<K: Kv>(kv: &K) {
    let key = TimerKey::new(Millis(100), 0);
    arm(kv, 100, 0, frame("m1"));
    kv.write(move |tx| crate::mailbox::claim(tx, Slot::Timer(key), 99, Millis(100), 1000))
        .unwrap();
    assert!(kv.write(move |tx| timers::cancel(tx, key)).unwrap());
    assert!(rows(kv, Dbi::LEASES).is_empty());
}

pub fn a_timer_can_cancel_the_one_behind_it<K: Kv>(kv: &K) {
    arm(kv, 100, 0, frame("first"));
    arm(kv, 100, 1, frame("second"));
    let script = Script::new(|_, mut tx, _| {
        timers::cancel(&mut tx, TimerKey::new(Millis(100), 1)).map(drop)
    });
    let stage = Stage::new(kv, script);
    assert_eq!(stage.poll_timers(8, 200).processed, 1);
    assert_eq!(stage.script.calls(), ["first"]);
    assert!(rows(kv, Dbi::TIMERS).is_empty());
}

pub fn a_timer_may_cancel_itself_and_take_its_own_place_again<K: Kv>(kv: &K) {
    arm(kv, 100, 0, frame("first"));
    let script = Script::new(|message, mut tx, _| {
        if message.id != b"first" {
            return Ok(());
        }
        let key = TimerKey::new(Millis(100), 0);
        assert!(!timers::cancel(&mut tx, key)?);
        assert_eq!(timers::arm(&mut tx, Millis(100), &frame("again"))?, key);
        Ok(())
    });
    let stage = Stage::new(kv, script);
    assert_eq!(stage.poll_timers(1, 200).processed, 1);
    assert_eq!(stage.poll_timers(8, 200).processed, 1);
    assert_eq!(stage.script.calls(), ["first", "again"]);
}

pub fn cancelling_by_message_spares_a_timer_armed_later_at_the_same_key<K: Kv>(kv: &K) {
    let key = TimerKey::new(Millis(100), 0);
    arm(kv, 100, 0, frame("new"));
    assert!(
        !kv.write(move |tx| timers::cancel_message(tx, key, b"old"))
            .unwrap()
    );
    assert!(
        kv.write(move |tx| timers::cancel_message(tx, key, b"new"))
            .unwrap()
    );
    assert!(rows(kv, Dbi::TIMERS).is_empty());
}

/// A failed timer is tried once per poll, where it is.
pub fn a_failing_timer_has_a_budget_and_ends_as_a_dead_letter<K: Kv>(kv: &K) {
    arm(kv, 100, 3, frame("m1"));
    put(kv, 0, frame_to(9, "keeps the inbox from being empty"));
    let stage = Stage::new(kv, Script::fails(Status::Conflict));
    for attempt in 1..=3u8 {
        assert_eq!(stage.poll_timers(8, 100), Polled::default());
        assert_eq!(timer_keys(kv), [(100, 3)]);
        assert_eq!(
            get(kv, Dbi::DEDUPE, &retry_key(b"m1")),
            Some(vec![attempt, 0, 0, 0])
        );
    }
    assert_eq!(stage.poll_timers(8, 100), Polled::default());
    assert_eq!(stage.script.calls().len(), 4);
    assert!(timer_keys(kv).is_empty());
    assert_eq!(letters(kv), [(1, Status::Conflict.code(), 4)]);
    assert_eq!(get(kv, Dbi::DEDUPE, &retry_key(b"m1")), None);
}

pub fn a_non_retryable_timer_failure_returns_its_code_and_others_still_run<K: Kv>(kv: &K) {
    arm(kv, 100, 0, frame("bad"));
    arm(kv, 100, 1, frame("good"));
    let script = Script::new(|message, _, _| {
        if message.id == b"bad" {
            Err(Status::Full)
        } else {
            Ok(())
        }
    });
    let stage = Stage::new(kv, script);
    let polled = stage.poll_timers(8, 100);
    assert_eq!(
        polled,
        Polled {
            processed: 1,
            failure: Some(Status::Full)
        }
    );
    assert_eq!(timer_keys(kv), [(100, 0)]);
}

/// K7: the lease of a timer keeps a second runner of the same worker away.
pub fn a_timer_under_a_live_lease_is_passed_over<K: Kv>(kv: &K) {
    arm(kv, 100, 0, frame("leased"));
    arm(kv, 100, 1, frame("free"));
    let slot = Slot::Timer(TimerKey::new(Millis(100), 0));
    kv.write(move |tx| crate::mailbox::claim(tx, slot, 99, Millis(100), 1000))
        .unwrap();
    let script = Script::succeeds();
    let runner = other_runner(kv, &script, 2);
    assert_eq!(runner.poll_timers(8, &|| Millis(200)).processed, 1);
    assert_eq!(runner.poll_timers(8, &|| Millis(1101)).processed, 1);
    assert_eq!(script.calls(), ["free", "leased"]);
}

pub fn a_timer_whose_frame_does_not_decode_is_dead_lettered<K: Kv>(kv: &K) {
    arm(kv, 100, 0, b"nope".to_vec());
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(stage.poll_timers(8, 100), Polled::default());
    assert!(timer_keys(kv).is_empty());
    assert_eq!(letters(kv), [(0, -5, 0)]);
}

pub fn a_timer_that_rests_is_not_tried_before_its_backoff_is_over<K: Kv>(kv: &K) {
    arm(kv, 100, 0, frame("m1"));
    let stage = Stage::new(kv, Script::fails_once(Status::Busy));
    stage.runner.set_policy(Policy {
        requeue_backoff_ms: 50,
        ..Policy::DEFAULT
    });
    assert_eq!(stage.poll_timers(8, 100).processed, 0);
    assert_eq!(stage.poll_timers(8, 150).processed, 0);
    assert_eq!(stage.poll_timers(8, 151).processed, 1);
    assert_eq!(stage.script.calls().len(), 2);
}

pub fn a_step_can_arm_a_timer_that_is_due_at_once<K: Kv>(kv: &K) {
    arm(kv, 100, 0, frame("m1"));
    let script = Script::new(|message, _, step| {
        if message.id == b"m1" {
            step.arm(Millis(-5), &Message::new(Kind::Timer, 7, "m2", "").view())?;
        }
        Ok(())
    });
    let stage = Stage::new(kv, script);
    assert_eq!(stage.poll_timers(8, 100).processed, 2);
    assert_eq!(stage.script.calls(), ["m1", "m2"]);
}
