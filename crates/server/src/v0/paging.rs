//! Pages of the lists of a project's numbers.

use kiln_control::Denied;
use kiln_store::sql::dimension::{Page, Sort};
use serde::Deserialize;

use super::listing::Listed;

/// As many as stock servers answer when nothing is said.
const DEFAULT_PER_PAGE: u8 = 8;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Paging {
    per_page: Option<u8>,
    /// 0 and 1 are both the first.
    #[serde(default)]
    page: u32,
    direction: Option<Direction>,
    sort: Option<String>,
}

/// What lists can be sorted by, as stock clients call it.
pub(super) type Sorts = &'static [(&'static str, Sort)];
pub(super) const BY_NAME: Sorts = &[("name", Sort::Usual)];
pub(super) const BY_DATE_TIME: Sorts = &[("date_time", Sort::Usual)];
pub(super) const BY_TIME: Sorts = &[("created", Sort::Created), ("modified", Sort::Modified)];
pub(super) const BY_PLACE: Sorts = &[("index", Sort::Usual), ("title", Sort::Title)];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Direction {
    Asc,
    Desc,
}

impl Paging {
    /// `descending` is what the list does when nothing is asked for.
    pub(super) fn page(&self, sorts: Sorts, descending: bool) -> Result<Page, Denied> {
        let limit = i64::from(self.per_page.unwrap_or(DEFAULT_PER_PAGE));
        Ok(Page {
            limit,
            offset: limit * i64::from(self.page.saturating_sub(1)),
            descending: self
                .direction
                .map_or(descending, |direction| direction == Direction::Desc),
            sort: match &self.sort {
                None => Sort::Usual,
                Some(asked) => known(sorts, asked)?,
            },
        })
    }
}

fn known(sorts: Sorts, asked: &str) -> Result<Sort, Denied> {
    let found = sorts.iter().find(|(name, _)| *name == asked);
    found.map(|(_, sort)| *sort).ok_or_else(|| {
        let names: Vec<_> = sorts.iter().map(|(name, _)| *name).collect();
        Denied::Invalid(format!(
            "this list is sorted by {}, not by {asked:?}",
            names.join(" or ")
        ))
    })
}

/// A page of a list with so many rows.
pub(super) fn listed<T>(items: Vec<T>, total: i64) -> Listed<T> {
    Listed {
        items,
        total: u64::try_from(total).unwrap_or(0),
    }
}
