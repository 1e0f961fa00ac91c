//! Lists as clients page through them: filtered by name, searched, sorted, and counted.

use crate::{Error, Query, Row, Value};

/// Which part of a list is wanted.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Exactly this name.
    pub name: Option<String>,
    /// A part of the name or the slug, in any case. Not of the UUID, in which every short text is found some day.
    pub search: Option<String>,
    /// Also what was archived or revoked.
    pub archived: bool,
    pub order: Order,
    pub limit: u32,
    pub offset: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    pub by: OrderBy,
    pub descending: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderBy {
    #[default]
    Name,
    Created,
}

/// A part of a list, and how long the whole is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub total: u64,
}

/// What is listed. Its table, called `name` in `from`, has the columns `name`, `created` and `id`.
pub(super) struct Source {
    pub(super) columns: &'static str,
    pub(super) from: &'static str,
    pub(super) name: &'static str,
    pub(super) searched: &'static [&'static str],
}

/// One page. `condition` finds `more` at `?3` and after.
pub(super) fn page<Q: Query + ?Sized, T>(
    query: &mut Q,
    source: &Source,
    condition: &str,
    more: Vec<Value>,
    listing: &Listing,
    read: fn(&Row) -> Result<T, Error>,
) -> Result<Page<T>, Error> {
    let Source {
        columns,
        from,
        name,
        searched,
    } = source;
    let found: Vec<String> = searched
        .iter()
        .map(|column| format!("LOWER({column}) LIKE ?2 ESCAPE '!'"))
        .collect();
    let filter = format!(
        "(?1 = '' OR {name}.name = ?1) AND (?2 = '' OR {}) AND {condition}",
        found.join(" OR ")
    );
    let mut params = vec![
        Value::from(listing.name.clone().unwrap_or_default()),
        Value::from(listing.search.as_deref().map(pattern).unwrap_or_default()),
    ];
    params.extend(more);
    let count = format!("SELECT COUNT(*) FROM {from} WHERE {filter}");
    let total = match query.query_one(&count, &params)? {
        Some(row) => row.get(0)?,
        None => 0,
    };
    let column = match listing.order.by {
        OrderBy::Name => "name",
        OrderBy::Created => "created",
    };
    let direction = if listing.order.descending {
        " DESC"
    } else {
        ""
    };
    let (limit, offset) = (params.len() + 1, params.len() + 2);
    let select = format!(
        "SELECT {columns} FROM {from} WHERE {filter} \
         ORDER BY {name}.{column}{direction}, {name}.id{direction} LIMIT ?{limit} OFFSET ?{offset}"
    );
    params.push(Value::from(listing.limit));
    params.push(Value::Int(
        i64::try_from(listing.offset).unwrap_or(i64::MAX),
    ));
    let rows = query.query(&select, &params)?;
    Ok(Page {
        items: rows.iter().map(read).collect::<Result<_, _>>()?,
        total,
    })
}

/// What contains the text, with the wildcards in it taken literally.
pub(super) fn pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.to_lowercase().chars() {
        if matches!(c, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_in_a_search_are_taken_literally() {
        assert_eq!(pattern("A_b%!"), "%a!_b!%!!%");
    }
}
