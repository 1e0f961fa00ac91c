//! What a value of a database says.

use super::{Node, bytes, frame, number, text};
use crate::keys::{RETRY_PREFIX, SCHEMA_KEY};
use crate::records::{DeadLetter, DedupeRecord, Lease, RetryCount, SchemaVersion};
use crate::{Dbi, Status};

/// The value under a key. Records must be right; a frame that does not decode is shown with its code, because that is
/// what dead letters are made of.
pub fn value(dbi: Dbi, key: &[u8], value: &[u8]) -> Result<Node, Status> {
    match dbi {
        Dbi::APP_STATE if key == SCHEMA_KEY => SchemaVersion::decode(value).map(|version| {
            Node::Fields(vec![
                ("major", number(version.major)),
                ("minor", number(version.minor)),
            ])
        }),
        Dbi::INBOX | Dbi::OUTBOX | Dbi::TIMERS => Ok(frame_or_code(value)),
        Dbi::LEASES => Lease::decode(value).map(|lease| {
            Node::Fields(vec![
                ("owner", number(lease.owner)),
                ("deadline", number(lease.deadline.0)),
                ("attempts", number(lease.attempts)),
            ])
        }),
        Dbi::DEDUPE if key.starts_with(RETRY_PREFIX) => {
            RetryCount::decode(value).map(|count| Node::Fields(vec![("failures", number(count.0))]))
        }
        Dbi::DEDUPE => DedupeRecord::decode(value).map(|record| {
            Node::Fields(vec![
                ("accepted", Node::Flag(record.accepted)),
                ("last_seen", number(record.last_seen.0)),
                ("checksum", bytes(record.checksum())),
            ])
        }),
        Dbi::DEAD_LETTER => DeadLetter::decode(value).map(|letter| {
            Node::Fields(vec![
                ("failure", number(letter.failure)),
                ("attempts", number(letter.attempts)),
                ("message", frame_or_code(&letter.frame)),
            ])
        }),
        _ => Ok(bytes(value)),
    }
}

fn frame_or_code(value: &[u8]) -> Node {
    frame(value).unwrap_or_else(|wire| {
        Node::Fields(vec![
            ("frame", Node::Nothing),
            ("error", text(wire.name())),
            ("bytes", bytes(value)),
        ])
    })
}
