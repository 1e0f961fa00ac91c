use kiln_model::Millis;

use super::*;
use crate::keys::{InboxKey, SCHEMA_KEY, TimerKey, dedupe_key, retry_key};
use crate::records::{DeadLetter, DedupeRecord, Lease, RetryCount, SchemaVersion};
use crate::{Dbi, Flags, Intent, Kind, Message};

fn check(node: &Node, path: &[&str], expected: &Node) {
    let found = path.iter().try_fold(node, |node, name| node.field(name));
    assert_eq!(found, Some(expected), "{path:?} of {node:?}");
}

fn message_frame() -> Vec<u8> {
    let mut message = Message::new(Kind::Event, 7, "m1", "ok");
    message.flags = Flags::DURABLE.with(Flags::DEDUPE_REQUIRED);
    message.encode().unwrap()
}

#[test]
fn a_message_is_told_field_by_field() {
    let node = frame(&message_frame()).unwrap();
    check(&node, &["kind"], &text("event"));
    check(&node, &["to_worker"], &number(7));
    check(&node, &["from_worker"], &Node::Nothing);
    check(&node, &["message_id"], &bytes(b"m1"));
    check(
        &node,
        &["flags"],
        &Node::List(vec![text("durable"), text("dedupe-required")]),
    );
}

#[test]
fn an_intent_shows_the_message_in_it() {
    let intent = Intent::TimerArm {
        due: Millis(-9),
        message: message_frame(),
    };
    let node = frame(&intent.encode().unwrap()).unwrap();
    check(&node, &["due"], &number(-9));
    check(&node, &["message", "payload"], &bytes(b"ok"));
}

#[test]
fn every_key_is_told_apart() {
    let inbox = InboxKey::new(7, 99).to_bytes();
    let timer = TimerKey::new(Millis(5), 6);
    let what = |dbi, bytes: &[u8]| key(dbi, bytes).unwrap().field("what").cloned().unwrap();
    assert_eq!(what(Dbi::APP_STATE, SCHEMA_KEY), text("schema-marker"));
    assert_eq!(what(Dbi::APP_STATE, b"x"), text("application"));
    assert_eq!(what(Dbi::INBOX, &inbox), text("inbox-row"));
    assert_eq!(what(Dbi::OUTBOX, &[0; 8]), text("outbox-row"));
    assert_eq!(what(Dbi::LEASES, &inbox), text("inbox-lease"));
    assert_eq!(what(Dbi::LEASES, &timer.lease_key()), text("timer-lease"));
    assert_eq!(what(Dbi::LEASES, b"queue"), text("application-lease"));
    assert_eq!(what(Dbi::TIMERS, &timer.to_bytes()), text("timer"));
    assert_eq!(what(Dbi::DEDUPE, &retry_key(b"m")), text("retry-counter"));
    assert_eq!(what(Dbi::DEDUPE, &dedupe_key(b"m")), text("dedupe-record"));
    assert_eq!(what(Dbi::DEAD_LETTER, &inbox), text("dead-letter"));
    assert!(key(Dbi::INBOX, b"short").is_err());
    assert!(key(Dbi::DEDUPE, b"neither").is_err());
}

#[test]
fn every_value_is_told_field_by_field() {
    let marker = value(
        Dbi::APP_STATE,
        SCHEMA_KEY,
        &SchemaVersion::new(1, 2).to_bytes(),
    )
    .unwrap();
    check(&marker, &["minor"], &number(2));
    let lease = Lease {
        owner: 7,
        deadline: Millis(9),
        attempts: 2,
    };
    let lease = value(Dbi::LEASES, b"", &lease.to_bytes()).unwrap();
    check(&lease, &["deadline"], &number(9));
    let counter = value(Dbi::DEDUPE, &retry_key(b"m"), &RetryCount(3).to_bytes()).unwrap();
    check(&counter, &["failures"], &number(3));
    let record = DedupeRecord::accepted_at(Millis(4)).encode();
    let record = value(Dbi::DEDUPE, &dedupe_key(b"m"), &record).unwrap();
    check(&record, &["accepted"], &Node::Flag(true));
    check(
        &value(Dbi::INBOX, b"", &message_frame()).unwrap(),
        &["kind"],
        &text("event"),
    );
}

#[test]
fn a_dead_letter_shows_why_its_frame_does_not_decode() {
    let letter = DeadLetter {
        failure: -5,
        attempts: 0,
        frame: b"nope".to_vec(),
    };
    let node = value(Dbi::DEAD_LETTER, b"", &letter.encode().unwrap()).unwrap();
    check(&node, &["failure"], &number(-5));
    check(&node, &["message", "error"], &text("ETRUNC"));
    check(&node, &["message", "bytes"], &bytes(b"nope"));
}
