//! Timers: frames to be run at or after a time. Everything here runs inside somebody's transaction.
//!
//! Keys keep the original's bytes, which sort negative due times last. Whoever reads in the order of time therefore
//! reads the negative half first and then the other.

use kiln_model::Millis;

use crate::drained::{Drained, stops};
use crate::inbox::{check_frame, frame_of};
use crate::keys::TimerKey;
use crate::kv::Pair;
use crate::slot::Slot;
use crate::{Dbi, KvTx, MessageView, Status, retries, tail};

/// Puts a timer at a key of the caller's choice; a taken one is [`Status::Exists`].
pub fn append<T: KvTx + ?Sized>(
    tx: &mut T,
    due: Millis,
    seq: u64,
    frame: &[u8],
) -> Result<(), Status> {
    check_frame(frame)?;
    tx.insert(Dbi::TIMERS, &TimerKey::new(due, seq).to_bytes(), frame)
}

/// Arms a timer behind all others of the same due time; the answer is what cancels it.
pub fn arm<T: KvTx + ?Sized>(tx: &mut T, due: Millis, frame: &[u8]) -> Result<TimerKey, Status> {
    arm_from(tx, due, 0, frame)
}

/// Arms a timer that carries a message.
pub fn arm_message<T: KvTx + ?Sized>(
    tx: &mut T,
    due: Millis,
    message: &MessageView<'_>,
) -> Result<TimerKey, Status> {
    arm(tx, due, &frame_of(message)?)
}

/// As [`arm`], with a sequence not below `floor`.
pub fn arm_from<T: KvTx + ?Sized>(
    tx: &mut T,
    due: Millis,
    floor: u64,
    frame: &[u8],
) -> Result<TimerKey, Status> {
    check_frame(frame)?;
    let from = TimerKey::new(due, 0).to_bytes();
    let until = end_of(due);
    tail::append(tx, Dbi::TIMERS, frame, tail::TRIES, |tx| {
        let last = tx.last(Dbi::TIMERS, &from, until.as_ref().map(<[u8; 16]>::as_slice))?;
        let seq = match last {
            Some((key, _)) => TimerKey::decode(&key)?
                .seq
                .checked_add(1)
                .ok_or(Status::Full)?,
            None => 0,
        };
        let key = TimerKey::new(due, seq.max(floor));
        Ok((key, key.to_bytes()))
    })
}

/// Cancels the timer at a key, whatever it holds; tells whether there was one. Once this is committed it never fires,
/// also when a worker is preparing it at this moment.
///
/// Keys are used again: prefer [`cancel_message`] when the timer may have fired in between.
pub fn cancel<T: KvTx + ?Sized>(tx: &mut T, key: TimerKey) -> Result<bool, Status> {
    #[cfg(feature = "sabotage")]
    if crate::sabotage::is_on(crate::sabotage::Switch::ForgetTimerCancel) {
        return Ok(true);
    }
    let Some(frame) = show(tx, key)? else {
        return Ok(false);
    };
    remove(tx, key, &frame)
}

/// Cancels the timer at a key if it still carries this message, and not one that was armed there later.
pub fn cancel_message<T: KvTx + ?Sized>(
    tx: &mut T,
    key: TimerKey,
    id: &[u8],
) -> Result<bool, Status> {
    #[cfg(feature = "sabotage")]
    if crate::sabotage::is_on(crate::sabotage::Switch::ForgetTimerCancel) {
        return Ok(true);
    }
    let Some(frame) = show(tx, key)? else {
        return Ok(false);
    };
    match MessageView::decode(&frame) {
        Ok(message) if message.id == id => remove(tx, key, &frame),
        _ => Ok(false),
    }
}

fn remove<T: KvTx + ?Sized>(tx: &mut T, key: TimerKey, frame: &[u8]) -> Result<bool, Status> {
    if let Ok(message) = MessageView::decode(frame) {
        retries::clear(tx, message.id)?;
    }
    tx.delete(Dbi::LEASES, Slot::Timer(key).lease_key().as_slice())?;
    tx.delete(Dbi::TIMERS, &key.to_bytes())
}

/// The frame of the timer at a key.
pub fn show<T: KvTx + ?Sized>(tx: &mut T, key: TimerKey) -> Result<Option<Vec<u8>>, Status> {
    tx.get(Dbi::TIMERS, &key.to_bytes())
}

/// When the earliest timer is due.
pub fn next_due<T: KvTx + ?Sized>(tx: &mut T) -> Result<Option<Millis>, Status> {
    for range in halves() {
        if let Some((key, _)) = range.scan(tx, 1)?.pop() {
            return Ok(Some(TimerKey::decode(&key)?.due));
        }
    }
    Ok(None)
}

/// Up to `limit` timers that are due, in the order of their due times and then of their sequence.
pub fn due<T: KvTx + ?Sized>(
    tx: &mut T,
    now: Millis,
    limit: usize,
) -> Result<Vec<(TimerKey, Vec<u8>)>, Status> {
    let mut found = Vec::new();
    for range in due_ranges(now) {
        for (key, frame) in range.scan(tx, limit - found.len())? {
            found.push((TimerKey::decode(&key)?, frame));
        }
    }
    Ok(found)
}

/// Hands up to `max` due timers to `each`, earliest first, and removes them if they are still what was handed over. An
/// error of `each` stops there and keeps that timer.
///
/// This is the plain drain inside one transaction. A [`crate::Runner`] leases, retries and counts as well.
pub fn drain<T: KvTx + ?Sized>(
    tx: &mut T,
    now: Millis,
    max: usize,
    mut each: impl FnMut(&mut T, TimerKey, &[u8]) -> Result<(), Status>,
) -> Result<Drained, Status> {
    let mut processed = 0;
    for (key, frame) in due(tx, now, max)? {
        if let Err(stopped_by) = stops(tx, |tx| each(tx, key, &frame))? {
            return Ok(Drained {
                processed,
                stopped_by: Some(stopped_by),
            });
        }
        if tx.delete_matching(Dbi::TIMERS, &key.to_bytes(), &frame)? {
            processed += 1;
            continue;
        }
        let gone = show(tx, key)?.is_none();
        let stopped_by = Some(if gone {
            Status::NotFound
        } else {
            Status::Conflict
        });
        return Ok(Drained {
            processed,
            stopped_by,
        });
    }
    Ok(Drained {
        processed,
        stopped_by: None,
    })
}

/// A range of timer keys that is contiguous in bytes and in time.
#[derive(Clone, Debug)]
pub(crate) struct KeyRange {
    pub(crate) from: Vec<u8>,
    pub(crate) until: Option<Vec<u8>>,
}

impl KeyRange {
    pub(crate) fn scan<T: KvTx + ?Sized>(
        &self,
        tx: &mut T,
        limit: usize,
    ) -> Result<Vec<Pair>, Status> {
        tx.scan(Dbi::TIMERS, &self.from, self.until.as_deref(), limit)
    }
}

/// The ranges that hold what is due at `now`, in the order of time.
pub(crate) fn due_ranges(now: Millis) -> Vec<KeyRange> {
    let [mut negative, mut positive] = halves();
    if now.0 < 0 {
        negative.until = end_of(now).map(Vec::from);
        return vec![negative];
    }
    if let Some(until) = end_of(now) {
        positive.until = Some(until.to_vec());
    }
    vec![negative, positive]
}

/// The negative due times, then the others.
fn halves() -> [KeyRange; 2] {
    let middle = TimerKey::new(Millis(i64::MIN), 0).to_bytes().to_vec();
    [
        KeyRange {
            from: middle.clone(),
            until: None,
        },
        KeyRange {
            from: Vec::new(),
            until: Some(middle),
        },
    ]
}

/// The first key, in bytes, after all timers of a due time; `None` is the end of the database.
fn end_of(due: Millis) -> Option<[u8; TimerKey::LEN]> {
    match due.0 {
        -1 => None,
        // The byte after the largest positive time is the smallest negative one.
        other => Some(TimerKey::new(Millis(other.wrapping_add(1)), 0).to_bytes()),
    }
}
