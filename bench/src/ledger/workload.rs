//! The rows that every side writes. The SQL texts lie in files, because the sqlx peer is a program of its own.

use kiln_store::{Tx, params};

use crate::failure::Failure;

pub(super) const SCHEMA: &str = include_str!("../../sql/schema.sql");
pub(super) const INSERT: &str = include_str!("../../sql/insert.sql");
pub(super) const CLAIM: &str = include_str!("../../sql/claim.sql");
pub(super) const START: &str = include_str!("../../sql/start.sql");
pub(super) const FINISH: &str = include_str!("../../sql/finish.sql");

pub(super) const LANE: i64 = 1;
/// What a job says that it wants to run: of the length of a small command line.
pub(super) const WORK: &str = r#"{"image":"sha256:0123456789abcdef","command":["bench","--json"]}"#;
/// How many jobs wait before the first closure, so that claiming by order has something to order.
pub(super) const BACKLOG: i64 = 1_000;
/// Jobs are spread over this many priorities.
pub(super) const PRIORITIES: i64 = 4;

/// Makes the table and its backlog.
pub(super) fn prepare(tx: &mut dyn Tx) -> Result<(), Failure> {
    for statement in SCHEMA.split_inclusive(';') {
        if !statement.trim().is_empty() {
            tx.execute(statement, &[])?;
        }
    }
    (0..BACKLOG).try_for_each(|number| insert(tx, number))
}

/// One closure: a job comes, the first in order is claimed, starts and finishes.
pub(super) fn closure(tx: &mut dyn Tx, number: i64) -> Result<(), Failure> {
    insert(tx, number)?;
    let claimed = tx.query_one(CLAIM, params![LANE, number, number])?;
    let claimed = claimed.ok_or_else(nothing_to_claim)?;
    let (id, epoch): (i64, i64) = (claimed.get(0)?, claimed.get(1)?);
    for guarded in [START, FINISH] {
        let changed = tx.execute(guarded, params![id, epoch, number])?;
        found_its_row(changed == 1)?;
    }
    Ok(())
}

pub(super) fn nothing_to_claim() -> Failure {
    Failure::Wrong("a claim found no job, though one was just inserted".into())
}

pub(super) fn found_its_row(found: bool) -> Result<(), Failure> {
    if found {
        return Ok(());
    }
    Err(Failure::Wrong(
        "a guarded update found its row in another state".into(),
    ))
}

fn insert(tx: &mut dyn Tx, number: i64) -> Result<(), Failure> {
    tx.execute(INSERT, params![LANE, number % PRIORITIES, WORK, number])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kiln_store::{Store, StoreConfig, SystemClock, SystemEntropy};

    use super::*;

    #[test]
    fn a_closure_finishes_the_first_job_in_order_and_leaves_the_backlog_as_long_as_it_was() {
        let clock = Arc::new(SystemClock::new());
        let config = StoreConfig::new("sqlite::memory:", clock, Arc::new(SystemEntropy));
        let store = Store::open(&config).unwrap();
        let ran = store.ledger.submit(|tx: &mut dyn Tx| {
            prepare(tx)?;
            closure(tx, 5_000)?;
            let count =
                "SELECT status, priority, COUNT(*) FROM bench_job GROUP BY 1, 2 ORDER BY 1, 2";
            Ok::<_, Failure>(tx.query(count, &[])?)
        });
        let rows: Vec<[i64; 3]> = ran
            .wait()
            .unwrap()
            .iter()
            .map(|row| [0, 1, 2].map(|column| row.get(column).unwrap()))
            .collect();
        let expected = [
            [0, 0, 251],
            [0, 1, 250],
            [0, 2, 250],
            [0, 3, 249],
            [3, 3, 1],
        ];
        assert_eq!(rows, expected);
        store.close();
    }
}
