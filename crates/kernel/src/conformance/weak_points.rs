//! One behaviour for each weak point of the original.

use std::sync::Arc;

use kiln_model::Millis;

use super::stage::{
    ManualTime, Script, Stage, WORKER, arm, frame, frame_to, get, inbox_seqs, letters, put, rows,
    timer_keys, worker,
};
use crate::keys::{dedupe_key, retry_key};
use crate::policy::Policy;
use crate::runner::Polled;
use crate::{Dbi, Flags, InboxKey, Kind, Kv, KvTx, Message, Slot, Status, inbox, mailbox, timers};

/// State, intents, dedupe record and ack are one transaction: whatever fails, all of it is undone.
pub fn weak_point_1_effects_intents_and_ack_commit_together<K: Kv>(kv: &K) {
    let mut message = Message::new(Kind::Command, 7, "m1", "");
    message.flags = Flags::DEDUPE_REQUIRED;
    put(kv, 1, message.encode().unwrap());
    let script = Script::new(|_, tx, step| {
        tx.put(Dbi(7), b"effect", b"1")?;
        step.emit(&Message::new(Kind::Event, 1, "event", "").view())?;
        step.arm(Millis(5), &Message::new(Kind::Timer, 1, "timer", "").view())?;
        if step.attempt() == 1 {
            // The last intent cannot be routed: there is no room behind the last sequence.
            let last = InboxKey::new(3, u64::MAX).to_bytes();
            tx.put(Dbi::INBOX, &last, b"frame")?;
            step.send(&Message::new(Kind::Command, 3, "cannot", "").view())?;
        }
        Ok(())
    });
    let stage = Stage::new(kv, script);
    assert_eq!(stage.poll(1, 0).failure, Some(Status::Full));
    for dbi in [Dbi(7), Dbi::OUTBOX, Dbi::TIMERS] {
        assert!(rows(kv, dbi).is_empty(), "{dbi:?}");
    }
    assert_eq!(get(kv, Dbi::DEDUPE, &dedupe_key(b"m1")), None);
    assert_eq!(inbox_seqs(kv), [2]);
    assert_eq!(stage.poll(1, 0).processed, 1);
    for dbi in [Dbi(7), Dbi::OUTBOX, Dbi::TIMERS] {
        assert_eq!(rows(kv, dbi).len(), 1, "{dbi:?}");
    }
    assert!(get(kv, Dbi::DEDUPE, &dedupe_key(b"m1")).is_some());
    assert!(rows(kv, Dbi::INBOX).is_empty());
}

pub fn weak_point_2_a_misrouted_row_ends_as_a_dead_letter<K: Kv>(kv: &K) {
    put(kv, 1, frame_to(8, "lost"));
    let stage = Stage::new(kv, Script::succeeds());
    for _ in 0..4 {
        let polled = stage.poll(8, 0);
        assert_eq!(
            polled,
            Polled {
                processed: 0,
                failure: Some(Status::NotFound)
            }
        );
    }
    assert_eq!(letters(kv), [(4, Status::NotFound.code(), 4)]);
    assert!(inbox_seqs(kv).is_empty());
    assert_eq!(stage.poll(8, 0), Polled::default());
    assert!(stage.script.calls().is_empty());
}

pub fn weak_point_2_a_non_retryable_failure_does_not_circulate_for_ever<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let stage = Stage::new(kv, Script::fails(Status::Error("no".into())));
    for _ in 0..4 {
        assert!(stage.poll(8, 0).failure.is_some());
    }
    assert_eq!(stage.poll(8, 0), Polled::default());
    assert_eq!(stage.script.calls().len(), 4);
    assert_eq!(letters(kv).len(), 1);
}

pub fn weak_point_3_a_timer_of_another_worker_blocks_nobody<K: Kv>(kv: &K) {
    for seq in 0..100 {
        arm(kv, 90, seq, frame_to(8, "foreign"));
    }
    arm(kv, 100, 0, frame("mine"));
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(
        stage.poll_timers(8, 100),
        Polled {
            processed: 1,
            failure: None
        }
    );
    assert_eq!(stage.script.calls(), ["mine"]);
    assert_eq!(timer_keys(kv).len(), 100);
}

pub fn weak_point_3_a_retryable_timer_failure_has_a_budget<K: Kv>(kv: &K) {
    arm(kv, 100, 0, frame("m1"));
    let stage = Stage::new(kv, Script::fails(Status::Busy));
    for _ in 0..10 {
        assert_eq!(stage.poll_timers(8, 100), Polled::default());
    }
    assert_eq!(stage.script.calls().len(), 4);
    assert_eq!(letters(kv), [(0, Status::Busy.code(), 4)]);
}

pub fn weak_point_4_a_live_foreign_lease_does_not_block_the_inbox<K: Kv>(kv: &K) {
    for seq in 1..=3 {
        put(kv, seq, frame(&format!("m{seq}")));
    }
    let slot = Slot::Inbox(InboxKey::new(WORKER, 1));
    kv.write(move |tx| mailbox::claim(tx, slot, 99, Millis(0), 1000))
        .unwrap();
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(
        stage.poll(8, 500),
        Polled {
            processed: 2,
            failure: None
        }
    );
    assert_eq!(stage.script.calls(), ["m2", "m3"]);
    assert_eq!(stage.poll(8, 1001).processed, 1);
}

/// A whole batch of leased rows before the free one is passed over as well.
pub fn weak_point_4_many_leased_rows_do_not_hide_a_free_one<K: Kv>(kv: &K) {
    kv.write(|tx| {
        for seq in 0..150 {
            inbox::put(tx, WORKER, seq, &frame("leased"))?;
            let slot = Slot::Inbox(InboxKey::new(WORKER, seq));
            mailbox::claim(tx, slot, 99, Millis(0), 1000)?;
        }
        inbox::put(tx, WORKER, 150, &frame("free"))
    })
    .unwrap();
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(stage.poll(1, 0).processed, 1);
    assert_eq!(stage.script.calls(), ["free"]);
}

/// Finding the tail asks for the last row, and never scans.
pub fn weak_point_5_appending_reads_one_row_per_database<K: Kv>(kv: &K) {
    kv.write(|tx| {
        for seq in 0..500 {
            inbox::put(tx, WORKER, seq, &frame("m"))?;
        }
        let mut counting = Counting {
            tx,
            scanned: 0,
            asked: 0,
        };
        assert_eq!(inbox::append(&mut counting, WORKER, b"frame")?.seq, 500);
        timers::arm(&mut counting, Millis(5), b"frame")?;
        assert_eq!((counting.scanned, counting.asked), (0, 3));
        Ok(())
    })
    .unwrap();
}

pub fn weak_point_6_a_dedupe_record_never_shares_a_key_with_a_counter<K: Kv>(kv: &K) {
    // The record of this id would have been the counter of message `m1`.
    let mut message = Message::new(Kind::Command, 7, "retry:m1", "");
    message.flags = Flags::DEDUPE_REQUIRED;
    put(kv, 1, message.encode().unwrap());
    put(kv, 2, frame("m1"));
    let script = Script::new(|message, _, _| {
        if message.id == b"m1" {
            Err(Status::Busy)
        } else {
            Ok(())
        }
    });
    let stage = Stage::new(kv, script);
    assert_eq!(stage.poll(2, 0).processed, 1);
    assert_eq!(
        get(kv, Dbi::DEDUPE, &retry_key(b"m1")),
        Some(vec![1, 0, 0, 0])
    );
    assert_eq!(
        get(kv, Dbi::DEDUPE, &dedupe_key(b"retry:m1")).map(|record| record[0]),
        Some(1)
    );
}

pub fn weak_point_7_a_put_never_overwrites<K: Kv>(kv: &K) {
    put(kv, 1, frame("first"));
    let refused = kv.write(|tx| inbox::put(tx, WORKER, 1, &frame("second")));
    assert_eq!(refused, Err(Status::Exists));
    let stage = Stage::new(kv, Script::succeeds());
    stage.poll(8, 0);
    assert_eq!(stage.script.calls(), ["first"]);
}

pub fn weak_point_7_a_lease_can_be_renewed_while_a_step_is_prepared<K: Kv>(kv: &K) {
    super::a_slow_step_keeps_its_claim(kv);
}

pub fn weak_point_8_requeues_can_rest<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let stage = Stage::new(kv, Script::fails(Status::Busy));
    stage.runner.set_policy(Policy {
        requeue_backoff_ms: 100,
        ..Policy::DEFAULT
    });
    for (now, calls) in [
        (0, 1),
        (100, 1),
        (101, 2),
        (301, 2),
        (302, 3),
        (702, 3),
        (703, 4),
    ] {
        stage.poll(8, now);
        assert_eq!(stage.script.calls().len(), calls, "at {now}");
    }
    assert_eq!(letters(kv).len(), 1);
    assert!(rows(kv, Dbi::LEASES).is_empty());
}

pub fn weak_point_9_negative_due_times_come_first<K: Kv>(kv: &K) {
    for due in [5, -1, 0, i64::MIN, -7] {
        arm(kv, due, 0, frame(&due.to_string()));
    }
    assert_eq!(kv.read(timers::next_due).unwrap(), Some(Millis(i64::MIN)));
    let script = Script::succeeds();
    let worker = worker(kv, &script, &ManualTime::at(-2), 8);
    assert_eq!(worker.tick().processed, 2);
    assert_eq!(kv.read(timers::next_due).unwrap(), Some(Millis(-1)));
    let stage = Stage::new(kv, Arc::clone(&script));
    assert_eq!(stage.poll_timers(8, 4).processed, 2);
    assert_eq!(stage.poll_timers(8, 5).processed, 1);
    let expected = [i64::MIN, -7, -1, 0, 5].map(|due| due.to_string());
    assert_eq!(script.calls(), expected);
}

/// Counts how a transaction is read.
struct Counting<'a, T: ?Sized> {
    tx: &'a mut T,
    scanned: usize,
    asked: usize,
}

impl<T: KvTx + ?Sized> KvTx for Counting<'_, T> {
    fn get(&mut self, dbi: Dbi, key: &[u8]) -> Result<Option<Vec<u8>>, Status> {
        self.tx.get(dbi, key)
    }
    fn put(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<(), Status> {
        self.tx.put(dbi, key, value)
    }
    fn insert(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<(), Status> {
        self.tx.insert(dbi, key, value)
    }
    fn delete(&mut self, dbi: Dbi, key: &[u8]) -> Result<bool, Status> {
        self.tx.delete(dbi, key)
    }
    fn scan(
        &mut self,
        dbi: Dbi,
        from: &[u8],
        until: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<crate::kv::Pair>, Status> {
        let found = self.tx.scan(dbi, from, until, limit)?;
        self.scanned += found.len();
        Ok(found)
    }
    fn last(
        &mut self,
        dbi: Dbi,
        from: &[u8],
        until: Option<&[u8]>,
    ) -> Result<Option<crate::kv::Pair>, Status> {
        self.asked += 1;
        self.tx.last(dbi, from, until)
    }
    fn begin_nested(&mut self) -> Result<(), Status> {
        self.tx.begin_nested()
    }
    fn commit_nested(&mut self) -> Result<(), Status> {
        self.tx.commit_nested()
    }
    fn rollback_nested(&mut self) -> Result<(), Status> {
        self.tx.rollback_nested()
    }
}
