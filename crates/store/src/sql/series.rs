//! Series: what was measured where.

use crate::{Error, Query, Tx, params};

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

/// Its id; it is made when there is none.
pub fn ensure(tx: &mut dyn Tx, testbed: i64, measure: i64, benchmark: i64) -> Result<i64, Error> {
    if let Some(id) = find(tx, testbed, measure, benchmark)? {
        return Ok(id);
    }
    tx.execute(
        "INSERT INTO series (testbed_id, measure_id, benchmark_id) VALUES (?1, ?2, ?3) \
         ON CONFLICT (testbed_id, measure_id, benchmark_id) DO NOTHING",
        params![testbed, measure, benchmark],
    )?;
    find(tx, testbed, measure, benchmark)?.ok_or_else(|| Error::Corrupt {
        what: "a series vanished".to_owned(),
    })
}
