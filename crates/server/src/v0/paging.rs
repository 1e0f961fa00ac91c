//! Pages of lists, and the count of all that stock clients look for.

use axum::Json;
use axum::http::HeaderName;
use axum::response::{IntoResponse, Response};
use kiln_store::sql::dimension::Page;
use serde::{Deserialize, Serialize};

/// The most rows of a page; a page is a byte on the wire.
const DEFAULT_PER_PAGE: u8 = 8;
const TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");

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

/// A page with how many rows there are in all.
#[derive(Debug)]
pub(super) struct Listed<T> {
    pub(super) rows: Vec<T>,
    pub(super) total: i64,
}

impl<T: Serialize> IntoResponse for Listed<T> {
    fn into_response(self) -> Response {
        let total = [(TOTAL_COUNT, self.total.to_string())];
        (total, Json(self.rows)).into_response()
    }
}
