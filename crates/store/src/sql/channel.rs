//! Which channel speaks for a slot of a runner: the newest, on whichever server.

use kiln_model::Slot;

use crate::{Error, Query, Tx, params};

/// A channel of a runner's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    pub runner: i64,
    pub slot: Slot,
    number: i64,
}

/// A new channel, newer than all others of the runner.
pub fn open(tx: &mut dyn Tx, runner: i64, slot: Slot) -> Result<Channel, Error> {
    let row = tx.query_one(
        "INSERT INTO runner_channel (runner_id, slot, slots, number) VALUES (?1, ?2, ?3, \
         1 + (SELECT COALESCE(MAX(number), 0) FROM runner_channel WHERE runner_id = ?1)) \
         ON CONFLICT (runner_id, slot) DO UPDATE SET slots = excluded.slots, \
         number = CASE WHEN excluded.number > runner_channel.number THEN excluded.number \
         ELSE runner_channel.number + 1 END RETURNING number",
        params![runner, slot.number(), slot.of()],
    )?;
    Ok(Channel {
        runner,
        slot,
        number: super::inserted_id(row)?,
    })
}

/// Whether there is a newer one of the same slot. One of a runner with another number of slots is newer than them all: the runner was
/// started again.
pub fn is_superseded<Q: Query + ?Sized>(query: &mut Q, channel: Channel) -> Result<bool, Error> {
    let newer = query.query_one(
        "SELECT number FROM runner_channel WHERE runner_id = ?1 AND number > ?2 \
         AND (slot = ?3 OR slots <> ?4) LIMIT 1",
        params![
            channel.runner,
            channel.number,
            channel.slot.number(),
            channel.slot.of()
        ],
    )?;
    Ok(newer.is_some())
}
