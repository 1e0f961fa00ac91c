//! Claiming: what may run now, marked as ours in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use kiln_model::Millis;

use super::job::Claimed;
use crate::keys::{InboxKey, TimerKey, successor};
use crate::kv::Pair;
use crate::records::Lease;
use crate::slot::Slot;
use crate::{Dbi, Flags, KvTx, MessageView, Status, dedupe, mailbox, timers};

/// Leases of others can lie between those of the rows; this many more are read before rows are looked up one by one.
const SLACK: usize = 64;

/// Who claims, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claimant {
    pub(super) worker: u64,
    pub(super) owner: u64,
    pub(super) now: Millis,
    pub(super) ttl_ms: i64,
    pub(super) dedupe_window_ms: i64,
}

#[derive(Debug, Default)]
pub(super) struct Claims {
    pub(super) taken: Vec<Claimed>,
    /// The first row that cannot be what it should be. It is passed over, and told.
    pub(super) corrupt: Option<Status>,
}

/// Claims up to `max` rows of the worker's inbox, oldest first. Rows under a live lease are passed over.
pub(super) fn inbox<T: KvTx + ?Sized>(
    tx: &mut T,
    claimant: &Claimant,
    max: usize,
) -> Result<Claims, Status> {
    let mut claims = Claims::default();
    let (from, until) = InboxKey::range_of(claimant.worker);
    let mut from = from.to_vec();
    while claims.taken.len() < max {
        let wanted = max - claims.taken.len();
        let rows = tx.scan(
            Dbi::INBOX,
            &from,
            until.as_ref().map(<[u8; 16]>::as_slice),
            wanted,
        )?;
        let Some((last, _)) = rows.last() else { break };
        let last = successor(last);
        let end = rows.len() < wanted;
        let mut slots = Vec::with_capacity(rows.len());
        for (key, frame) in rows {
            match InboxKey::decode(&key) {
                Ok(key) => slots.push((Slot::Inbox(key), frame)),
                Err(corrupt) => claims.note(corrupt),
            }
        }
        claims.take(tx, claimant, slots)?;
        if end {
            break;
        }
        from = last;
    }
    Ok(claims)
}

/// Claims up to `max` due timers, earliest first. Those under a live lease, of other workers, or tried already in this
/// poll are passed over.
pub(super) fn due_timers<T: KvTx + ?Sized>(
    tx: &mut T,
    claimant: &Claimant,
    due_until: Millis,
    tried: &BTreeSet<TimerKey>,
    max: usize,
) -> Result<Claims, Status> {
    let mut claims = Claims::default();
    for mut range in timers::due_ranges(due_until) {
        while claims.taken.len() < max {
            let wanted = max - claims.taken.len();
            let rows = range.scan(tx, wanted)?;
            let Some((last, _)) = rows.last() else { break };
            range.from = successor(last);
            let end = rows.len() < wanted;
            let slots = claims.mine(claimant.worker, tried, rows);
            claims.take(tx, claimant, slots)?;
            if end {
                break;
            }
        }
    }
    Ok(claims)
}

impl Claims {
    fn note(&mut self, corrupt: Status) {
        self.corrupt.get_or_insert(corrupt);
    }

    /// The timers among `rows` that this worker may try. A frame that does not decode belongs to whoever finds it.
    fn mine(
        &mut self,
        worker: u64,
        tried: &BTreeSet<TimerKey>,
        rows: Vec<Pair>,
    ) -> Vec<(Slot, Vec<u8>)> {
        let mut slots = Vec::with_capacity(rows.len());
        for (key, frame) in rows {
            match TimerKey::decode(&key) {
                Ok(key) if tried.contains(&key) => {}
                Ok(key) => {
                    let message = MessageView::decode(&frame);
                    if message.is_ok_and(|message| !message.is_for(worker)) {
                        continue;
                    }
                    slots.push((Slot::Timer(key), frame));
                }
                Err(corrupt) => self.note(corrupt),
            }
        }
        slots
    }

    fn take<T: KvTx + ?Sized>(
        &mut self,
        tx: &mut T,
        claimant: &Claimant,
        slots: Vec<(Slot, Vec<u8>)>,
    ) -> Result<(), Status> {
        let leases = Leases::load(tx, &slots)?;
        for (slot, frame) in slots {
            if frame.is_empty() {
                self.note(Status::Corrupt("a row without a frame".into()));
                continue;
            }
            let lease_key = slot.lease_key();
            let held = leases.of(tx, lease_key.as_slice())?;
            let Claimant {
                owner, now, ttl_ms, ..
            } = *claimant;
            let token = match mailbox::take_over(held.as_deref(), owner, now, ttl_ms) {
                Ok(token) => token,
                Err(Status::Busy) => continue,
                Err(corrupt) => {
                    self.note(corrupt);
                    continue;
                }
            };
            tx.put(Dbi::LEASES, lease_key.as_slice(), &token.to_bytes())?;
            let repeated = is_repeated(tx, claimant, &frame)?;
            self.taken.push(Claimed {
                slot,
                token,
                frame,
                repeated,
            });
        }
        Ok(())
    }
}

/// The leases on a run of rows, read at once.
enum Leases {
    All(BTreeMap<Vec<u8>, Vec<u8>>),
    TooMany,
}

impl Leases {
    fn load<T: KvTx + ?Sized>(tx: &mut T, slots: &[(Slot, Vec<u8>)]) -> Result<Self, Status> {
        let (Some((first, _)), Some((last, _))) = (slots.first(), slots.last()) else {
            return Ok(Self::TooMany);
        };
        let limit = slots.len() + SLACK;
        let until = successor(last.lease_key().as_slice());
        let rows = tx.scan(
            Dbi::LEASES,
            first.lease_key().as_slice(),
            Some(&until),
            limit,
        )?;
        if rows.len() == limit {
            return Ok(Self::TooMany);
        }
        Ok(Self::All(rows.into_iter().collect()))
    }

    fn of<T: KvTx + ?Sized>(&self, tx: &mut T, key: &[u8]) -> Result<Option<Vec<u8>>, Status> {
        match self {
            Self::All(leases) => Ok(leases.get(key).cloned()),
            Self::TooMany => tx.get(Dbi::LEASES, key),
        }
    }
}

fn is_repeated<T: KvTx + ?Sized>(
    tx: &mut T,
    claimant: &Claimant,
    frame: &[u8],
) -> Result<bool, Status> {
    match MessageView::decode(frame) {
        Ok(message) if message.flags.contains(Flags::DEDUPE_REQUIRED) => {
            dedupe::is_repetition(tx, message.id, claimant.now, claimant.dedupe_window_ms)
        }
        _ => Ok(false),
    }
}

/// Gives claims back, as far as they are still ours.
pub(super) fn release<T: KvTx + ?Sized>(
    tx: &mut T,
    claims: &[(Slot, Lease)],
) -> Result<(), Status> {
    for (slot, token) in claims {
        match mailbox::release(tx, *slot, token) {
            Ok(()) | Err(Status::Conflict) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(())
}
