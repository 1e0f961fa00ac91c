//! Lists: what may be asked of one, and how a part of one is answered.

use axum::Json;
use axum::http::HeaderValue;
use axum::response::{IntoResponse, Response};
use kiln_store::sql::listing::{Listing, Order, OrderBy, Page};
use serde::{Deserialize, Serialize};

use crate::layers::TOTAL_COUNT;

/// The query of a list.
#[derive(Debug, Deserialize)]
pub(crate) struct ListQuery {
    name: Option<String>,
    search: Option<String>,
    #[serde(default)]
    archived: bool,
    /// The same for keys.
    #[serde(default)]
    revoked: bool,
    #[serde(default)]
    sort: Sort,
    #[serde(default)]
    direction: Option<Direction>,
    #[serde(default = "default_per_page")]
    per_page: u8,
    /// 0 and 1 are both the first.
    #[serde(default)]
    page: u32,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sort {
    #[default]
    Name,
    Created,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Direction {
    Asc,
    Desc,
}

/// As many as stock servers answer when nothing is said.
const fn default_per_page() -> u8 {
    8
}

impl ListQuery {
    pub(crate) fn listing(&self) -> Listing {
        Listing {
            name: self.name.clone(),
            search: self.search.clone(),
            archived: self.archived || self.revoked,
            order: Order {
                by: match self.sort {
                    Sort::Name => OrderBy::Name,
                    Sort::Created => OrderBy::Created,
                },
                descending: self.direction == Some(Direction::Desc),
            },
            limit: u32::from(self.per_page),
            offset: self.offset(),
        }
    }

    pub(crate) fn limit(&self) -> u32 {
        u32::from(self.per_page)
    }

    pub(crate) fn offset(&self) -> u64 {
        u64::from(self.per_page) * u64::from(self.page.saturating_sub(1))
    }

    pub(crate) fn search(&self) -> Option<&str> {
        self.search.as_deref()
    }
}

/// A part of a list; how long the whole is stands in `X-Total-Count`.
#[derive(Debug)]
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<T>,
    pub(crate) total: u64,
}

impl<T> Listed<T> {
    pub(crate) fn page<R>(page: &Page<R>, show: impl FnMut(&R) -> T) -> Self {
        Self {
            items: page.items.iter().map(show).collect(),
            total: page.total,
        }
    }

    /// All there is.
    pub(crate) fn whole(items: Vec<T>) -> Self {
        let total = u64::try_from(items.len()).unwrap_or(u64::MAX);
        Self { items, total }
    }
}

impl<T: Serialize> IntoResponse for Listed<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.items).into_response();
        response
            .headers_mut()
            .insert(TOTAL_COUNT, HeaderValue::from(self.total));
        response
    }
}
