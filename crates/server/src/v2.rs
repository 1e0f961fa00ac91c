//! The registry's door: OCI distribution, and the token endpoint its clients are sent to.

mod access;
mod bandwidth;
mod blobs;
mod challenge;
mod dispatch;
mod drain;
mod error;
mod listings;
mod manifests;
mod parameters;
mod projects;
mod scope;
mod subject;
mod token;
mod uploads;

#[cfg(test)]
mod tests;

use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use axum::{Router, middleware};
use kiln_control::Denied;

use self::error::OciError;
use crate::app::Shared;

const API_VERSION: HeaderName = HeaderName::from_static("docker-distribution-api-version");
const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/v2", get(dispatch::ping))
        .route("/v2/", get(dispatch::ping))
        .route("/v2/{*path}", any(dispatch::dispatch))
        .route_layer(middleware::map_response(name_version))
        .route(
            "/v0/auth/oci/token",
            get(token::get_token).post(token::post_token),
        )
}

/// The same refusal in the registry's own shape.
pub(crate) fn refuse(denied: Denied) -> Response {
    OciError::from(denied).into_response()
}

/// Old clients look for it to tell a registry from another server.
async fn name_version(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(API_VERSION, HeaderValue::from_static("registry/2.0"));
    response
}
