//! One effect per message id.

use kiln_model::Millis;

use super::stage::{Script, Stage, inbox_seqs, put, rows};
use crate::policy::Policy;
use crate::records::DedupeRecord;
use crate::{Dbi, Flags, Kind, Kv, Message, Status, dedupe};

fn once(id: &str) -> Vec<u8> {
    let mut message = Message::new(Kind::Command, 7, id, "");
    message.flags = message.flags.with(Flags::DEDUPE_REQUIRED);
    message.encode().unwrap()
}

pub fn a_repeated_message_is_acknowledged_without_running<K: Kv>(kv: &K) {
    for seq in 0..3 {
        put(kv, seq, once("m1"));
    }
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(stage.poll(2, 0).processed, 2);
    assert_eq!(stage.poll(2, 5).processed, 1);
    assert_eq!(stage.script.calls(), ["m1"]);
    assert!(inbox_seqs(&stage.kv).is_empty());
    let record = stage.kv.read(|tx| dedupe::show(tx, b"m1")).unwrap();
    assert_eq!(record, Some(DedupeRecord::accepted_at(Millis(0))));
}

pub fn a_failed_message_is_not_remembered_as_accepted<K: Kv>(kv: &K) {
    put(kv, 0, once("m1"));
    let stage = Stage::new(kv, Script::fails_once(Status::Busy));
    assert_eq!(stage.poll(1, 0).processed, 0);
    assert_eq!(stage.kv.read(|tx| dedupe::show(tx, b"m1")).unwrap(), None);
    assert_eq!(stage.poll(1, 0).processed, 1);
    assert_eq!(stage.script.calls(), ["m1", "m1"]);
}

pub fn after_the_window_a_message_id_is_new_again<K: Kv>(kv: &K) {
    let stage = Stage::new(kv, Script::succeeds());
    stage.runner.set_policy(Policy {
        dedupe_window_ms: 100,
        ..Policy::DEFAULT
    });
    for (seq, now) in [(0, 0), (1, 100), (2, 101)] {
        put(&stage.kv, seq, once("m1"));
        assert_eq!(stage.poll(1, now).processed, 1);
    }
    assert_eq!(stage.script.calls().len(), 2);
}

pub fn without_the_flag_every_message_runs<K: Kv>(kv: &K) {
    put(kv, 0, super::stage::frame("m1"));
    put(kv, 1, super::stage::frame("m1"));
    let stage = Stage::new(kv, Script::succeeds());
    assert_eq!(stage.poll(8, 0).processed, 2);
    assert_eq!(stage.script.calls().len(), 2);
    assert!(rows(&stage.kv, Dbi::DEDUPE).is_empty());
}

pub fn old_records_are_swept_piece_by_piece<K: Kv>(kv: &K) {
    kv.write(|tx| {
        for (id, seen) in [(b"a", 1), (b"b", 9), (b"c", 2)] {
            dedupe::remember(tx, id, &DedupeRecord::accepted_at(Millis(seen)))?;
        }
        crate::retries::add(tx, b"a").map(drop)
    })
    .unwrap();
    let first = kv
        .write(|tx| dedupe::sweep(tx, Millis(5), None, 2))
        .unwrap();
    assert_eq!(first.removed, 1);
    let next = first.next.unwrap();
    let second = kv
        .write(move |tx| dedupe::sweep(tx, Millis(5), Some(&next), 2))
        .unwrap();
    assert_eq!((second.removed, second.next), (1, None));
    assert_eq!(rows(kv, Dbi::DEDUPE).len(), 2);
}
