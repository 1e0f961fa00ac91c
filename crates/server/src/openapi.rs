//! The `OpenAPI` document of every path, made from two tables: what can be asked, and what the bodies look like.
//!
//! Tables and not derived annotations: they cost no compile time, and the tests hold them against the routes and against
//! every answer of the black-box tests.

mod document;
mod operations;
mod patterns;
mod schemas;

#[cfg(test)]
pub(crate) mod contract;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use axum::Json;
use serde_json::Value;

pub(crate) static DOCUMENT: LazyLock<Value> = LazyLock::new(document::document);

/// `GET /v0/server/spec`.
pub(crate) async fn get_openapi() -> Json<&'static Value> {
    Json(&DOCUMENT)
}
