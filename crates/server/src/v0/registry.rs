//! The registry, for operators.

use axum::Json;
use axum::extract::{Path, State};
use kiln_model::operator::registry::{
    CollectRequest, Collected, Quota, RegistryStats, Verified, VerifyRequest,
};

use crate::app::Shared;
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::Admin;
use crate::operator::registry;

pub(super) async fn get_registry_stats(
    State(app): State<Shared>,
    _: Admin,
) -> ApiResult<Json<RegistryStats>> {
    Ok(Json(registry::stats(&app.store).await?))
}

pub(super) async fn collect_registry(
    State(app): State<Shared>,
    _: Admin,
    Body(request): Body<CollectRequest>,
) -> ApiResult<Json<Collected>> {
    Ok(Json(registry::collect(&app.store, &request).await?))
}

pub(super) async fn verify_registry(
    State(app): State<Shared>,
    _: Admin,
    Body(request): Body<VerifyRequest>,
) -> ApiResult<Json<Verified>> {
    Ok(Json(registry::verify(&app.store, &request).await?))
}

pub(super) async fn get_quota(
    State(app): State<Shared>,
    _: Admin,
    Path(project): Path<String>,
) -> ApiResult<Json<Quota>> {
    Ok(Json(registry::quota(&app.store, &project).await?))
}

pub(super) async fn set_quota(
    State(app): State<Shared>,
    _: Admin,
    Path(project): Path<String>,
    Body(wanted): Body<Quota>,
) -> ApiResult<Json<Quota>> {
    let set = registry::set_quota(&app.store, &project, wanted.quota).await?;
    Ok(Json(set))
}
