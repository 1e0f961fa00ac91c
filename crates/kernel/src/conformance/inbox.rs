//! Polling an inbox: order, retries, dead letters.

use super::stage::{Script, Stage, WORKER, frame, frame_to, get, inbox_seqs, letters, put, rows};
use crate::inbox::MAX_FRAME;
use crate::keys::retry_key;
use crate::policy::Policy;
use crate::runner::Polled;
use crate::{Dbi, InboxKey, Kind, Kv, KvTx, Message, Status, WireError, inbox};

pub fn a_poll_runs_rows_in_order_up_to_its_limit_and_leaves_other_workers_alone<K: Kv>(kv: &K) {
    for seq in [3, 1, 2] {
        put(kv, seq, frame(&format!("m{seq}")));
    }
    kv.write(|tx| inbox::put(tx, 8, 1, &frame_to(8, "other")))
        .unwrap();
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(
        stage.poll(2, 0),
        Polled {
            processed: 2,
            failure: None
        }
    );
    assert_eq!(stage.script.calls(), ["m1", "m2"]);
    assert_eq!(inbox_seqs(&stage.kv), [3]);
    assert_eq!(stage.poll(2, 0).processed, 1);
    assert_eq!(stage.poll(2, 0), Polled::default());
    assert_eq!(rows(&stage.kv, Dbi::INBOX).len(), 1);
    assert!(rows(&stage.kv, Dbi::LEASES).is_empty());
}

pub fn a_poll_longer_than_a_batch_runs_everything_in_order<K: Kv>(kv: &K) {
    kv.write(|tx| {
        (0..200u32).try_for_each(|index| {
            let message = Message::new(Kind::Command, 7, format!("m{index}"), "");
            inbox::send(tx, &message.view()).map(drop)
        })
    })
    .unwrap();
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(stage.poll(150, 0).processed, 150);
    assert_eq!(stage.poll(150, 0).processed, 50);
    let expected: Vec<_> = (0..200).map(|index| format!("m{index}")).collect();
    assert_eq!(stage.script.calls(), expected);
}

pub fn one_conflict_goes_behind_the_next_row_and_is_finished_in_the_same_poll<K: Kv>(kv: &K) {
    put(kv, 1, frame("flaky"));
    put(kv, 2, frame("steady"));
    let script = Script::new(|message, _, step| {
        if message.id == b"flaky" && step.attempt() == 1 {
            Err(Status::Conflict)
        } else {
            Ok(())
        }
    });
    let stage = Stage::new(kv, script);
    assert_eq!(
        stage.poll(8, 0),
        Polled {
            processed: 2,
            failure: None
        }
    );
    assert_eq!(stage.script.calls(), ["flaky", "steady", "flaky"]);
    for dbi in [Dbi::INBOX, Dbi::LEASES, Dbi::DEDUPE, Dbi::DEAD_LETTER] {
        assert!(rows(&stage.kv, dbi).is_empty(), "{dbi:?}");
    }
}

pub fn a_non_retryable_failure_moves_the_row_and_returns_its_code<K: Kv>(kv: &K) {
    put(kv, 10, frame("m1"));
    let stage = Stage::new(kv, Script::fails_once(Status::NotFound));
    let polled = stage.poll(8, 0);
    assert_eq!(
        polled,
        Polled {
            processed: 0,
            failure: Some(Status::NotFound)
        }
    );
    assert_eq!(inbox_seqs(&stage.kv), [11]);
    assert_eq!(
        stage.poll(8, 0),
        Polled {
            processed: 1,
            failure: None
        }
    );
    assert!(inbox_seqs(&stage.kv).is_empty());
}

pub fn a_failure_does_not_hide_what_was_processed_beside_it<K: Kv>(kv: &K) {
    for (seq, id) in [(1, "good"), (2, "bad"), (3, "fine")] {
        put(kv, seq, frame(id));
    }
    let script = Script::new(|message, _, _| {
        if message.id == b"bad" {
            Err(Status::Error("no".into()))
        } else {
            Ok(())
        }
    });
    let stage = Stage::new(kv, script);
    let polled = stage.poll(8, 0);
    assert_eq!(
        polled,
        Polled {
            processed: 2,
            failure: Some(Status::Error("no".into()))
        }
    );
    assert_eq!(inbox_seqs(&stage.kv), [4]);
}

pub fn a_budget_of_one_dead_letters_at_once<K: Kv>(kv: &K) {
    put(kv, 5, frame("m1"));
    let stage = Stage::new(kv, Script::fails(Status::Busy));
    stage.runner.set_policy(Policy {
        retry_budget_max: 1,
        ..Policy::DEFAULT
    });
    assert_eq!(stage.poll(8, 0), Polled::default());
    assert_eq!(letters(&stage.kv), [(5, Status::Busy.code(), 1)]);
    assert_eq!(stage.runner.metrics().requeues, 0);
}

pub fn a_frame_that_does_not_decode_is_dead_lettered_at_once<K: Kv>(kv: &K) {
    put(kv, 5, b"nope".to_vec());
    put(kv, 6, frame("m1"));
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(
        stage.poll(8, 0),
        Polled {
            processed: 1,
            failure: None
        }
    );
    assert_eq!(letters(&stage.kv), [(5, WireError::Truncated.code(), 0)]);
    let letter = get(
        &stage.kv,
        Dbi::DEAD_LETTER,
        &InboxKey::new(WORKER, 5).to_bytes(),
    )
    .unwrap();
    assert_eq!(
        crate::hex::encode(&letter),
        "444c5130fbffffff00000000040000006e6f7065"
    );
    assert_eq!(stage.script.calls(), ["m1"]);
}

pub fn a_success_clears_the_retry_counter<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let stage = Stage::new(kv, Script::fails_once(Status::Busy));
    assert_eq!(stage.poll(1, 0).processed, 0);
    assert_eq!(
        get(&stage.kv, Dbi::DEDUPE, &retry_key(b"m1")),
        Some(vec![1, 0, 0, 0])
    );
    assert_eq!(stage.poll(1, 0).processed, 1);
    assert_eq!(get(&stage.kv, Dbi::DEDUPE, &retry_key(b"m1")), None);
}

pub fn a_failed_step_leaves_nothing_of_its_own_behind<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    put(kv, 2, frame("m2"));
    let script = Script::new(|message, tx, step| {
        tx.put(Dbi(7), message.id, b"written")?;
        step.emit(message)?;
        tx.begin_nested()?;
        tx.put(Dbi(7), b"inner", b"left open")?;
        if message.id == b"m1" {
            return Err(Status::Conflict);
        }
        tx.rollback_nested()
    });
    let stage = Stage::new(kv, script);
    // Only a store that tells its depth can be cleaned up after a handler that leaves a frame open.
    if stage
        .kv
        .write(|tx| Ok(tx.nested_depth().is_none()))
        .unwrap()
    {
        return;
    }
    assert_eq!(
        stage.poll(2, 0),
        Polled {
            processed: 1,
            failure: None
        }
    );
    let written: Vec<_> = rows(&stage.kv, Dbi(7))
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(written, [b"m2"]);
    assert_eq!(rows(&stage.kv, Dbi::OUTBOX).len(), 1);
}

pub fn a_panic_is_a_failure_of_its_message_alone<K: Kv>(kv: &K) {
    put(kv, 1, frame("apply"));
    put(kv, 2, frame("prepare"));
    put(kv, 3, frame("good"));
    let script = Script::with_prepare(
        |message, _| {
            assert_ne!(message.id, b"prepare", "told to panic");
            Ok(())
        },
        |message, _, _| {
            assert_ne!(message.id, b"apply", "told to panic");
            Ok(())
        },
    );
    let stage = Stage::new(kv, script);
    let polled = stage.poll(3, 0);
    assert_eq!(polled.processed, 1);
    let text = polled.failure.unwrap().to_string();
    assert!(text.starts_with("the handler panicked: "), "{text}");
    assert_eq!(inbox_seqs(&stage.kv), [4, 5]);
}

pub fn intents_of_a_step_go_to_outbox_timers_and_inbox<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let script = Script::new(|message, _, step| {
        if message.id != b"m1" {
            return Ok(());
        }
        step.emit(&Message::new(Kind::Event, 1, "event", "").view())?;
        step.arm(
            kiln_model::Millis(50),
            &Message::new(Kind::Timer, 7, "timer", "").view(),
        )?;
        step.send(&Message::new(Kind::Command, 7, "next", "").view())
    });
    let stage = Stage::new(kv, script);
    assert_eq!(stage.poll(1, 0).processed, 1);
    assert_eq!(rows(&stage.kv, Dbi::OUTBOX).len(), 1);
    assert_eq!(super::stage::timer_keys(&stage.kv), [(50, 0)]);
    assert_eq!(stage.poll(8, 0).processed, 1);
    assert_eq!(stage.script.calls(), ["m1", "next"]);
}

pub fn frames_that_could_not_be_dead_lettered_are_refused<K: Kv>(kv: &K) {
    let put = |length| kv.write(move |tx| inbox::put(tx, WORKER, 1, &vec![1; length]));
    assert_eq!(put(MAX_FRAME + 1), Err(Status::Full));
    assert_eq!(put(0), Err(Status::Wire(WireError::Invalid)));
    assert_eq!(put(MAX_FRAME), Ok(()));
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(stage.poll(1, 0), Polled::default());
    assert_eq!(letters(kv).len(), 1);
}

/// Rows that the kernel cannot have written: a key of another length, a value without bytes.
pub fn a_row_that_cannot_be_one_is_told_and_blocks_nobody<K: Kv>(kv: &K) {
    kv.write(|tx| {
        let odd = [&InboxKey::new(WORKER, 1).to_bytes()[..], b"!"].concat();
        tx.put(Dbi::INBOX, &odd, b"frame")?;
        tx.put(Dbi::INBOX, &InboxKey::new(WORKER, 2).to_bytes(), b"")
    })
    .unwrap();
    put(kv, 3, frame("m1"));
    let stage = Stage::new(kv, Script::succeeds());
    let polled = stage.poll(8, 0);
    assert_eq!(polled.processed, 1);
    assert!(matches!(polled.failure, Some(Status::Corrupt(_))));
}

pub fn a_message_id_that_no_key_can_hold_is_refused<K: Kv>(kv: &K) {
    let send = |length| {
        let message = Message::new(Kind::Command, 7, vec![b'i'; length], "");
        kv.write(move |tx| inbox::send(tx, &message.view()))
    };
    assert_eq!(send(inbox::MAX_MESSAGE_ID + 1), Err(Status::Full));
    assert!(send(inbox::MAX_MESSAGE_ID).is_ok());
    let stage = Stage::new(kv, Script::fails_once(Status::Busy));
    assert_eq!(stage.poll(8, 0).processed, 1);
}

pub fn a_sequence_at_its_end_is_full_and_the_row_stays<K: Kv>(kv: &K) {
    put(kv, u64::MAX, frame("m1"));
    let stage = Stage::new(kv, Script::fails(Status::Busy));
    assert_eq!(stage.poll(8, 0).failure, Some(Status::Full));
    assert_eq!(inbox_seqs(&stage.kv), [u64::MAX]);
    assert!(rows(&stage.kv, Dbi::LEASES).is_empty());
    let message = Message::new(Kind::Command, 7, "m2", "");
    let sent = stage.kv.write(move |tx| inbox::send(tx, &message.view()));
    assert_eq!(sent, Err(Status::Full));
}
