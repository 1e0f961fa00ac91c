//! Claims on single rows.

use kiln_model::Millis;

use super::stage::{WORKER, frame, get, inbox_seqs, put, rows};
use crate::records::Lease;
use crate::{Dbi, InboxKey, Kv, Slot, Status, mailbox};

const KEY: InboxKey = InboxKey::new(WORKER, 5);
const SLOT: Slot = Slot::Inbox(KEY);

fn claim<K: Kv>(kv: &K, owner: u64, now: i64) -> Result<Lease, Status> {
    kv.write(move |tx| mailbox::claim(tx, SLOT, owner, Millis(now), 100))
}

pub fn a_claim_excludes_others_until_it_expires<K: Kv>(kv: &K) {
    assert_eq!(claim(kv, 1, 0), Err(Status::NotFound));
    put(kv, 5, frame("m1"));
    let first = claim(kv, 1, 1000).unwrap();
    assert_eq!(
        (first.owner, first.deadline, first.attempts),
        (1, Millis(1100), 1)
    );
    assert_eq!(claim(kv, 2, 1100), Err(Status::Busy));
    assert_eq!(claim(kv, 1, 1100), Err(Status::Busy));
    let second = claim(kv, 2, 1101).unwrap();
    assert_eq!((second.owner, second.attempts), (2, 2));
}

pub fn an_ack_removes_row_and_lease<K: Kv>(kv: &K) {
    put(kv, 5, frame("m1"));
    let token = claim(kv, 1, 0).unwrap();
    kv.write(move |tx| mailbox::ack(tx, SLOT, &token)).unwrap();
    assert!(rows(kv, Dbi::INBOX).is_empty());
    assert!(rows(kv, Dbi::LEASES).is_empty());
}

pub fn a_stale_token_changes_nothing<K: Kv>(kv: &K) {
    put(kv, 5, frame("m1"));
    let stale = claim(kv, 1, 0).unwrap();
    let fresh = claim(kv, 2, 101).unwrap();
    let refused = [
        kv.write(move |tx| mailbox::ack(tx, SLOT, &stale)),
        kv.write(move |tx| mailbox::release(tx, SLOT, &stale)),
        kv.write(move |tx| mailbox::requeue(tx, KEY, &stale, 4).map(drop)),
        kv.write(move |tx| mailbox::renew(tx, SLOT, &stale, Millis(900)).map(drop)),
    ];
    assert_eq!(refused, [const { Err(Status::Conflict) }; 4]);
    assert_eq!(inbox_seqs(kv), [5]);
    assert_eq!(
        get(kv, Dbi::LEASES, &KEY.to_bytes()),
        Some(fresh.to_bytes().to_vec())
    );
}

pub fn a_requeue_keeps_the_bytes_and_ends_the_claim<K: Kv>(kv: &K) {
    put(kv, 5, frame("m1"));
    put(kv, 9, frame("m2"));
    let token = claim(kv, 1, 0).unwrap();
    let moved = kv
        .write(move |tx| mailbox::requeue(tx, KEY, &token, 4))
        .unwrap();
    assert_eq!(moved, InboxKey::new(WORKER, 10));
    assert_eq!(get(kv, Dbi::INBOX, &moved.to_bytes()), Some(frame("m1")));
    assert_eq!(inbox_seqs(kv), [9, 10]);
    assert!(rows(kv, Dbi::LEASES).is_empty());
}

pub fn a_renewed_claim_lasts_longer_and_has_a_new_token<K: Kv>(kv: &K) {
    put(kv, 5, frame("m1"));
    let old = claim(kv, 1, 0).unwrap();
    let new = kv
        .write(move |tx| mailbox::renew(tx, SLOT, &old, Millis(500)))
        .unwrap();
    assert_eq!(claim(kv, 2, 500), Err(Status::Busy));
    assert_eq!(
        kv.write(move |tx| mailbox::ack(tx, SLOT, &old)),
        Err(Status::Conflict)
    );
    assert_eq!(kv.write(move |tx| mailbox::ack(tx, SLOT, &new)), Ok(()));
}
