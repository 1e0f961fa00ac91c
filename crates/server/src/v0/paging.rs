//! Pages of the lists of a project's numbers.

use kiln_store::sql::dimension::Page;
use serde::Deserialize;

use super::listing::Listed;

/// As many as stock servers answer when nothing is said.
const DEFAULT_PER_PAGE: u8 = 8;

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Paging {
    per_page: Option<u8>,
    /// 0 and 1 are both the first.
    #[serde(default)]
    page: u32,
    direction: Option<Direction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Direction {
    Asc,
    Desc,
}

impl Paging {
    /// `descending` is what the list does when nothing is asked for.
    pub(super) fn page(self, descending: bool) -> Page {
        let limit = i64::from(self.per_page.unwrap_or(DEFAULT_PER_PAGE));
        Page {
            limit,
            offset: limit * i64::from(self.page.saturating_sub(1)),
            descending: self
                .direction
                .map_or(descending, |direction| direction == Direction::Desc),
        }
    }
}

/// A page of a list with so many rows.
pub(super) fn listed<T>(items: Vec<T>, total: i64) -> Listed<T> {
    Listed {
        items,
        total: u64::try_from(total).unwrap_or(0),
    }
}
