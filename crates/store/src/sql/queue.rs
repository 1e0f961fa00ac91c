//! Queues of actions and their counts.

use kiln_model::Millis;

use crate::{Error, Query, Row, Tx, params};

/// The numbers are stored; they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueState {
    /// Takes new work.
    Active,
    /// Refuses new work, finishes what it has.
    Draining,
    /// Refuses new work, cancels what it has.
    Canceled,
}

impl QueueState {
    const fn code(self) -> i64 {
        match self {
            Self::Active => 0,
            Self::Draining => 1,
            Self::Canceled => 2,
        }
    }

    fn from_code(code: i64) -> Result<Self, Error> {
        [Self::Active, Self::Draining, Self::Canceled]
            .into_iter()
            .find(|state| state.code() == code)
            .ok_or_else(|| Error::Corrupt {
                what: format!("queue state {code}"),
            })
    }
}

/// How many actions of a queue are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Pending or in flight.
    pub active: i64,
    pub completed: i64,
    pub failed: i64,
    pub abandoned: i64,
    pub canceled: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    pub id: i64,
    pub tag: String,
    pub state: QueueState,
    pub max_retries: u32,
    pub idle_since: Millis,
    pub counts: QueueCounts,
    pub created: Millis,
}

pub fn create(tx: &mut dyn Tx, tag: &str, max_retries: u32) -> Result<i64, Error> {
    let (now, wall) = (tx.now(), tx.wall());
    let row = tx.query_one(
        "INSERT INTO queue (tag, state, max_retries, idle_since_tick, active, completed, failed, \
         abandoned, canceled, created) VALUES (?1, 0, ?2, ?3, 0, 0, 0, 0, 0, ?4) RETURNING id",
        params![tag, max_retries, now, wall],
    )?;
    super::inserted_id(row)
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Queue>, Error> {
    query
        .query_one(
            "SELECT id, tag, state, max_retries, idle_since_tick, active, completed, failed, abandoned, \
             canceled, created FROM queue WHERE id = ?1",
            params![id],
        )?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn set_state(tx: &mut dyn Tx, id: i64, state: QueueState) -> Result<(), Error> {
    tx.execute(
        "UPDATE queue SET state = ?2 WHERE id = ?1",
        params![id, state.code()],
    )?;
    Ok(())
}

/// Adds `change` to the counts, in one statement, so that two transitions never lose one another's.
pub fn count(tx: &mut dyn Tx, id: i64, change: QueueCounts) -> Result<(), Error> {
    let now = tx.now();
    tx.execute(
        "UPDATE queue SET active = active + ?2, completed = completed + ?3, failed = failed + ?4, \
         abandoned = abandoned + ?5, canceled = canceled + ?6, idle_since_tick = ?7 WHERE id = ?1",
        params![
            id,
            change.active,
            change.completed,
            change.failed,
            change.abandoned,
            change.canceled,
            now
        ],
    )?;
    Ok(())
}

pub fn delete(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    tx.execute(
        "UPDATE job SET queue_id = NULL WHERE queue_id = ?1",
        params![id],
    )?;
    tx.execute("DELETE FROM queue WHERE id = ?1", params![id])?;
    Ok(())
}

fn read(row: &Row) -> Result<Queue, Error> {
    Ok(Queue {
        id: row.get(0)?,
        tag: row.get(1)?,
        state: QueueState::from_code(row.get(2)?)?,
        max_retries: row.get(3)?,
        idle_since: row.get(4)?,
        counts: QueueCounts {
            active: row.get(5)?,
            completed: row.get(6)?,
            failed: row.get(7)?,
            abandoned: row.get(8)?,
            canceled: row.get(9)?,
        },
        created: row.get(10)?,
    })
}
