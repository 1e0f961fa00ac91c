//! What operators do to a store: over HTTP when a server has it open, directly when none has.

pub mod registry;

use kiln_kernel::{Dbi, InboxKey, Kv as _, KvTx, Status, dead_letters, hex, records, timers};
use kiln_model::operator::{DeadLetter, InboxStats, KernelStats, Replayed};
use kiln_store::Ledger;

/// How many rows one look takes.
const PAGE: usize = 1_000;

/// Counts what there is.
pub fn stats(ledger: &Ledger) -> Result<KernelStats, Status> {
    let now = ledger.now().0;
    ledger.read(move |tx| {
        Ok(KernelStats {
            inboxes: inboxes(tx)?,
            outbox: count(tx, Dbi::OUTBOX)?,
            leases: count(tx, Dbi::LEASES)?,
            timers: count(tx, Dbi::TIMERS)?,
            next_timer: timers::next_due(tx)?.map(|due| due.0),
            now,
            dead_letters: count(tx, Dbi::DEAD_LETTER)?,
        })
    })
}

/// The first `max` dead letters in order.
pub fn list(ledger: &Ledger, max: usize) -> Result<Vec<DeadLetter>, Status> {
    ledger.read(move |tx| {
        let letters = dead_letters::list(tx, InboxKey::new(0, 0), max.min(PAGE))?;
        Ok(letters
            .iter()
            .map(|(key, letter)| view(*key, letter))
            .collect())
    })
}

pub fn show(ledger: &Ledger, worker: u64, seq: u64) -> Result<Option<DeadLetter>, Status> {
    let key = InboxKey::new(worker, seq);
    ledger.read(move |tx| Ok(dead_letters::show(tx, key)?.map(|letter| view(key, &letter))))
}

/// Puts a letter back at the tail of its inbox, with the id it had.
pub fn replay(ledger: &Ledger, worker: u64, seq: u64) -> Result<Replayed, Status> {
    let key = InboxKey::new(worker, seq);
    ledger.write(move |tx| {
        let back = dead_letters::replay_at_tail(tx, key)?;
        tx.ring(kiln_store::Bell::Kernel);
        Ok(Replayed {
            worker: back.worker,
            seq: back.seq,
        })
    })
}

/// Removes up to `max` letters and answers them.
pub fn drain(ledger: &Ledger, max: usize) -> Result<Vec<DeadLetter>, Status> {
    ledger.write(move |tx| {
        let mut drained = Vec::new();
        dead_letters::drain(tx, max.min(PAGE), |_, key, letter| {
            drained.push(view(key, letter));
            Ok(())
        })?;
        Ok(drained)
    })
}

fn view(key: InboxKey, letter: &records::DeadLetter) -> DeadLetter {
    DeadLetter {
        worker: key.worker,
        seq: key.seq,
        failure: letter.failure,
        attempts: letter.attempts,
        frame: hex::encode(&letter.frame),
    }
}

fn count<T: KvTx + ?Sized>(tx: &mut T, dbi: Dbi) -> Result<u64, Status> {
    let mut total = 0;
    pages(tx, dbi, |_| total += 1)?;
    Ok(total)
}

fn inboxes<T: KvTx + ?Sized>(tx: &mut T) -> Result<Vec<InboxStats>, Status> {
    let mut found: Vec<InboxStats> = Vec::new();
    let mut bad = None;
    pages(tx, Dbi::INBOX, |key| match InboxKey::decode(key) {
        Ok(InboxKey { worker, .. }) => {
            match found.last_mut().filter(|last| last.worker == worker) {
                Some(last) => last.frames += 1,
                None => found.push(InboxStats { worker, frames: 1 }),
            }
        }
        Err(status) => bad = Some(status),
    })?;
    bad.map_or(Ok(found), Err)
}

fn pages<T: KvTx + ?Sized>(
    tx: &mut T,
    dbi: Dbi,
    mut each: impl FnMut(&[u8]),
) -> Result<(), Status> {
    let mut from = Vec::new();
    loop {
        let rows = tx.scan(dbi, &from, None, PAGE)?;
        for (key, _) in &rows {
            each(key);
        }
        match rows.into_iter().nth(PAGE - 1) {
            Some((mut last, _)) => {
                last.push(0);
                from = last;
            }
            None => return Ok(()),
        }
    }
}
