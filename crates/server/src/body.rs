//! Bodies of requests: JSON, whatever the content type says, and refused in the words stock clients know.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;

use crate::app::Shared;
use crate::error::ApiError;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Shared> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, app)
            .await
            .map_err(|error| ApiError::new(error.status(), "body_unreadable", error.body_text()))?;
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| ApiError::bad_request(format!("unable to parse JSON body: {error}")))
    }
}
