//! Lists in statements. Every list is asked for in pieces of one of two lengths, so that two texts are prepared, once each.

use crate::{Error, Query, Row, Value};

/// How many values are asked for at a time.
const PLACES: usize = 64;

/// How many of a short list, such as the benchmarks of most reports.
const FEW: usize = 4;

/// What `sql` answers for all values of a list. It is given the places of the list, `(?3, ?4, …)`, which follow the statement's
/// own parameters.
pub(super) fn query_list<Q: Query + ?Sized>(
    query: &mut Q,
    own: &[Value],
    list: &[Value],
    sql: impl Fn(&str) -> String,
) -> Result<Vec<Row>, Error> {
    let places = if list.len() <= FEW { FEW } else { PLACES };
    let sql = sql(&format!("({})", numbered(own.len() + 1, places)));
    let mut rows = Vec::new();
    for piece in list.chunks(places) {
        // Places that are left over ask for the last value again, which answers nothing new.
        let last = piece.last().expect("a chunk is not empty");
        let left_over = std::iter::repeat_n(last, places - piece.len());
        let params: Vec<Value> = own.iter().chain(piece).chain(left_over).cloned().collect();
        rows.extend(query.query(&sql, &params)?);
    }
    Ok(rows)
}

/// So many places from `first` on: `?3, ?4, …`.
pub(super) fn numbered(first: usize, count: usize) -> String {
    let places = (first..first + count).map(|place| format!("?{place}"));
    places.collect::<Vec<_>>().join(", ")
}
