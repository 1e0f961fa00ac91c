//! Dead letters and what operators do with them.

use kiln_model::Millis;

use super::stage::{Script, Stage, WORKER, frame, frame_to, inbox_seqs, letters, put, rows};
use crate::records::Lease;
use crate::{Dbi, InboxKey, Kv, Slot, Status, dead_letters, inbox, mailbox};

fn bury<K: Kv>(kv: &K, key: InboxKey) {
    kv.write(move |tx| {
        let slot = Slot::Inbox(key);
        let worker = i64::try_from(key.worker).unwrap();
        inbox::put(tx, key.worker, key.seq, &frame_to(worker, "dead"))?;
        let token = mailbox::claim(tx, slot, 1, Millis(0), 100)?;
        dead_letters::bury(tx, slot, &token, key.worker, &Status::Conflict, 4)
    })
    .unwrap();
}

pub fn a_buried_row_leaves_its_inbox_with_its_lease<K: Kv>(kv: &K) {
    bury(kv, InboxKey::new(WORKER, 5));
    assert_eq!(letters(kv), [(5, Status::Conflict.code(), 4)]);
    assert!(rows(kv, Dbi::INBOX).is_empty());
    assert!(rows(kv, Dbi::LEASES).is_empty());
}

pub fn a_stale_token_buries_nothing<K: Kv>(kv: &K) {
    put(kv, 5, frame("m1"));
    let slot = Slot::Inbox(InboxKey::new(WORKER, 5));
    kv.write(move |tx| mailbox::claim(tx, slot, 1, Millis(0), 100))
        .unwrap();
    let stale = Lease {
        owner: 2,
        deadline: Millis(100),
        attempts: 1,
    };
    let refused =
        kv.write(move |tx| dead_letters::bury(tx, slot, &stale, WORKER, &Status::Busy, 4));
    assert_eq!(refused, Err(Status::Conflict));
    assert_eq!(inbox_seqs(kv), [5]);
    assert!(letters(kv).is_empty());
    assert_eq!(rows(kv, Dbi::LEASES).len(), 1);
}

pub fn a_drain_goes_in_key_order_and_stops_at_a_refusal<K: Kv>(kv: &K) {
    for (worker, seq) in [(4, 1), (3, 2), (3, 9)] {
        bury(kv, InboxKey::new(worker, seq));
    }
    let (drained, seen) = kv
        .write(|tx| {
            let mut seen = Vec::new();
            let drained = dead_letters::drain(tx, 9, |_, key, _| {
                seen.push((key.worker, key.seq));
                if key.worker == 4 {
                    Err(Status::Busy)
                } else {
                    Ok(())
                }
            })?;
            Ok((drained, seen))
        })
        .unwrap();
    assert_eq!(seen, [(3, 2), (3, 9), (4, 1)]);
    assert_eq!(
        (drained.processed, drained.stopped_by),
        (2, Some(Status::Busy))
    );
    assert_eq!(letters(kv).len(), 1);
}

pub fn a_replay_needs_a_free_place_and_keeps_the_letter_without_one<K: Kv>(kv: &K) {
    let key = InboxKey::new(WORKER, 5);
    bury(kv, key);
    put(kv, 6, frame("in the way"));
    let replay = |key, seq| kv.write(move |tx| dead_letters::replay(tx, key, seq));
    assert_eq!(replay(key, 6), Err(Status::Exists));
    assert_eq!(letters(kv).len(), 1);
    assert_eq!(replay(InboxKey::new(WORKER, 99), 7), Err(Status::NotFound));
    assert_eq!(replay(key, 7), Ok(InboxKey::new(WORKER, 7)));
    assert!(letters(kv).is_empty());
    assert_eq!(inbox_seqs(kv), [6, 7]);
}

pub fn a_replayed_letter_has_its_id_and_a_fresh_budget<K: Kv>(kv: &K) {
    put(kv, 0, frame("m1"));
    let stage = Stage::new(kv, Script::fails(Status::Busy));
    stage.poll(8, 0);
    assert_eq!(letters(&stage.kv), [(3, Status::Busy.code(), 4)]);
    let key = InboxKey::new(WORKER, 3);
    let moved = stage
        .kv
        .write(move |tx| dead_letters::replay_at_tail(tx, key))
        .unwrap();
    assert_eq!(moved.seq, 4);
    stage.poll(8, 0);
    assert_eq!(stage.script.calls(), ["m1"; 8]);
    assert_eq!(letters(&stage.kv), [(7, Status::Busy.code(), 4)]);
}

/// An inbox that was emptied must not hand out the sequences of its dead letters again.
pub fn two_dead_letters_never_share_a_sequence<K: Kv>(kv: &K) {
    let stage = Stage::new(kv, Script::fails(Status::Busy));
    for id in ["a", "b", "c"] {
        let message = crate::Message::new(crate::Kind::Command, 7, id, "");
        stage
            .kv
            .write(move |tx| inbox::send(tx, &message.view()))
            .unwrap();
        stage.poll(8, 0);
    }
    let seqs: Vec<_> = letters(&stage.kv)
        .into_iter()
        .map(|(seq, _, _)| seq)
        .collect();
    assert_eq!(seqs, [3, 7, 11]);
    // A place chosen by hand can be one that a letter has; the letters still do not collide.
    put(&stage.kv, 3, frame("d"));
    stage.runner.set_policy(crate::Policy {
        retry_budget_max: 1,
        ..crate::Policy::DEFAULT
    });
    stage.poll(8, 0);
    let seqs: Vec<_> = letters(&stage.kv)
        .into_iter()
        .map(|(seq, _, _)| seq)
        .collect();
    assert_eq!(seqs, [3, 7, 11, 12]);
}
