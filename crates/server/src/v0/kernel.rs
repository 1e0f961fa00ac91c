//! The kernel, for operators.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use kiln_kernel::Status;
use kiln_model::operator::{DeadLetter, KernelStats, NewKey, Replayed};
use serde::Deserialize;

use crate::app::Shared;
use crate::error::{ApiError, ApiResult};
use crate::identity::Admin;
use crate::{first_start, operator};

#[derive(Debug, Deserialize)]
pub(super) struct Max {
    #[serde(default = "default_max")]
    max: usize,
}

const fn default_max() -> usize {
    100
}

pub(super) async fn get_kernel_stats(
    State(app): State<Shared>,
    _: Admin,
) -> ApiResult<Json<KernelStats>> {
    answer(move || operator::stats(&app.store.ledger)).await
}

pub(super) async fn list_dead_letters(
    State(app): State<Shared>,
    _: Admin,
    Query(Max { max }): Query<Max>,
) -> ApiResult<Json<Vec<DeadLetter>>> {
    answer(move || operator::list(&app.store.ledger, max)).await
}

pub(super) async fn get_dead_letter(
    State(app): State<Shared>,
    _: Admin,
    Path((worker, seq)): Path<(u64, u64)>,
) -> ApiResult<Json<DeadLetter>> {
    answer(move || operator::show(&app.store.ledger, worker, seq)?.ok_or(Status::NotFound)).await
}

pub(super) async fn replay_dead_letter(
    State(app): State<Shared>,
    _: Admin,
    Path((worker, seq)): Path<(u64, u64)>,
) -> ApiResult<Json<Replayed>> {
    answer(move || operator::replay(&app.store.ledger, worker, seq)).await
}

pub(super) async fn drain_dead_letters(
    State(app): State<Shared>,
    _: Admin,
    Query(Max { max }): Query<Max>,
) -> ApiResult<Json<Vec<DeadLetter>>> {
    answer(move || operator::drain(&app.store.ledger, max)).await
}

pub(super) async fn create_admin_key(
    State(app): State<Shared>,
    _: Admin,
) -> ApiResult<(StatusCode, Json<NewKey>)> {
    let made = tokio::task::spawn_blocking(move || {
        first_start::another_admin_key(&app.store, &*app.clock, &*app.entropy)
    })
    .await
    .expect("making a key does not panic");
    Ok((StatusCode::CREATED, Json(NewKey { key: made? })))
}

/// The kernel's calls block; they run on a thread that may.
async fn answer<T: Send + 'static>(
    body: impl FnOnce() -> Result<T, Status> + Send + 'static,
) -> ApiResult<Json<T>> {
    let answer = tokio::task::spawn_blocking(body)
        .await
        .expect("looking does not panic");
    answer.map(Json).map_err(|status| match status {
        Status::NotFound => ApiError::not_found("dead letter"),
        Status::Exists | Status::Busy | Status::Conflict => {
            ApiError::new(StatusCode::CONFLICT, "conflict", status.to_string())
        }
        Status::Error(_)
        | Status::Full
        | Status::Corrupt(_)
        | Status::Wire(_)
        | Status::Store(_) => ApiError::from(kiln_control::Denied::Kernel(status)),
    })
}
