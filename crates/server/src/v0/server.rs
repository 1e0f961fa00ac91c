//! What the server says about itself.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderName;
use axum::http::header::CONTENT_TYPE;
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

/// Sums and counts for Prometheus; nothing in them names anybody.
pub(super) async fn get_metrics(
    State(app): State<Shared>,
) -> ([(HeaderName, &'static str); 1], String) {
    let text = app.metrics.render(app.channels.count());
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

pub(super) async fn version() -> Json<ServerVersion> {
    Json(ServerVersion {
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}
