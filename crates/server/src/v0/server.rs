//! What the server says about itself.

use axum::Json;
use axum::extract::State;
use kiln_model::v0::ServerVersion;
use kiln_store::Query;

use crate::app::Shared;
use crate::error::ApiResult;

/// Ready: it answers only once the store does.
pub(super) async fn healthz(State(app): State<Shared>) -> ApiResult<&'static str> {
    let answered = app
        .store
        .reader
        .read(|query: &mut dyn Query| query.query("SELECT 1", &[]));
    answered.await?;
    Ok("ready\n")
}

pub(super) async fn version() -> Json<ServerVersion> {
    Json(ServerVersion {
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}
