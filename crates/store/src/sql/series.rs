//! Series: what was measured where.

use super::list::query_list;
use crate::{Error, Query, Tx, Value, params};

pub fn find<Q: Query + ?Sized>(
    query: &mut Q,
    testbed: i64,
    measure: i64,
    benchmark: i64,
) -> Result<Option<i64>, Error> {
    let row = query.query_one(
        "SELECT id FROM series WHERE testbed_id = ?1 AND measure_id = ?2 AND benchmark_id = ?3",
        params![testbed, measure, benchmark],
    )?;
    row.map(|row| row.get(0)).transpose()
}

/// Those of some benchmarks: benchmark and series.
pub fn of_benchmarks<Q: Query + ?Sized>(
    query: &mut Q,
    testbed: i64,
    measure: i64,
    benchmarks: &[i64],
) -> Result<Vec<(i64, i64)>, Error> {
    let list: Vec<Value> = benchmarks.iter().map(|id| Value::from(*id)).collect();
    let rows = query_list(query, params![testbed, measure], &list, |places| {
        format!(
            "SELECT benchmark_id, id FROM series WHERE testbed_id = ?1 AND measure_id = ?2 AND benchmark_id IN {places}"
        )
    })?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

/// Its id; it is made when there is none.
pub fn ensure(tx: &mut dyn Tx, testbed: i64, measure: i64, benchmark: i64) -> Result<i64, Error> {
    let made = tx.query_one(
        "INSERT INTO series (testbed_id, measure_id, benchmark_id) VALUES (?1, ?2, ?3) \
         ON CONFLICT (testbed_id, measure_id, benchmark_id) DO NOTHING RETURNING id",
        params![testbed, measure, benchmark],
    )?;
    if let Some(row) = made {
        return row.get(0);
    }
    find(tx, testbed, measure, benchmark)?.ok_or_else(|| Error::Corrupt {
        what: "a series vanished".to_owned(),
    })
}
