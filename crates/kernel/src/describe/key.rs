//! What a key of a database says.

use super::{Node, bytes, number, text};
use crate::keys::{
    DEDUPE_PREFIX, InboxKey, OutboxKey, RETRY_PREFIX, SCHEMA_KEY, TIMER_LEASE_PREFIX, TimerKey,
};
use crate::{Dbi, Status};

/// Keys of the kernel's databases are taken apart and must be right; those of a program are shown as they are.
pub fn key(dbi: Dbi, key: &[u8]) -> Result<Node, Status> {
    match dbi {
        Dbi::APP_STATE if key == SCHEMA_KEY => Ok(named("schema-marker", vec![])),
        Dbi::INBOX => InboxKey::decode(key).map(|key| row("inbox-row", key)),
        Dbi::DEAD_LETTER => InboxKey::decode(key).map(|key| row("dead-letter", key)),
        Dbi::OUTBOX => {
            OutboxKey::decode(key).map(|key| named("outbox-row", vec![("seq", number(key.seq))]))
        }
        Dbi::TIMERS => TimerKey::decode(key).map(|key| timer("timer", key)),
        Dbi::LEASES => lease(key),
        Dbi::DEDUPE => dedupe(key),
        _ => Ok(named("application", vec![("key", bytes(key))])),
    }
}

fn lease(key: &[u8]) -> Result<Node, Status> {
    if let Some(key) = key.strip_prefix(TIMER_LEASE_PREFIX) {
        return TimerKey::decode(key).map(|key| timer("timer-lease", key));
    }
    Ok(match InboxKey::decode(key) {
        Ok(key) => row("inbox-lease", key),
        Err(_) => named("application-lease", vec![("key", bytes(key))]),
    })
}

fn dedupe(key: &[u8]) -> Result<Node, Status> {
    let (what, id) = if let Some(id) = key.strip_prefix(RETRY_PREFIX) {
        ("retry-counter", id)
    } else if let Some(id) = key.strip_prefix(DEDUPE_PREFIX) {
        ("dedupe-record", id)
    } else {
        return Err(Status::Corrupt(
            "a key that is neither a counter nor a record".into(),
        ));
    };
    Ok(named(what, vec![("message_id", bytes(id))]))
}

fn row(what: &'static str, key: InboxKey) -> Node {
    named(
        what,
        vec![("worker", number(key.worker)), ("seq", number(key.seq))],
    )
}

fn timer(what: &'static str, key: TimerKey) -> Node {
    named(
        what,
        vec![("due", number(key.due.0)), ("seq", number(key.seq))],
    )
}

fn named(what: &'static str, fields: Vec<(&'static str, Node)>) -> Node {
    let mut all = vec![("what", text(what))];
    all.extend(fields);
    Node::Fields(all)
}
