//! Lists in statements. Every list is asked for in pieces of one length, so that one text is prepared once.

use crate::{Error, Query, Row, Value};

/// How many values are asked for at a time.
const PLACES: usize = 64;

/// What `sql` answers for all values of a list. It is given the places of the list, `(?3, ?4, …)`, which follow the statement's
/// own parameters.
pub(super) fn query_list<Q: Query + ?Sized>(
    query: &mut Q,
    own: &[Value],
    list: &[Value],
    sql: impl Fn(&str) -> String,
) -> Result<Vec<Row>, Error> {
    let sql = sql(&format!("({})", numbered(own.len() + 1, PLACES)));
    let mut rows = Vec::new();
    for piece in list.chunks(PLACES) {
        // Places that are left over ask for the last value again, which answers nothing new.
        let last = piece.last().expect("a chunk is not empty");
        let left_over = std::iter::repeat_n(last, PLACES - piece.len());
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
