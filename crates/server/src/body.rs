//! Bodies of requests: JSON, whatever the content type says, and refused in the words stock clients know.

use axum::body::to_bytes;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;

use crate::channel::MAX_MESSAGE;
use crate::error::ApiError;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let bytes = to_bytes(request.into_body(), MAX_MESSAGE)
            .await
            .map_err(|_| {
                ApiError::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "too_large",
                    format!("the body is longer than {MAX_MESSAGE} bytes, or was cut off"),
                )
            })?;
        // The parser would take an array for an object whose members come in order.
        let is_array = bytes.trim_ascii_start().first() == Some(&b'[');
        let parsed = if is_array {
            Err("invalid type: sequence, expected an object".to_owned())
        } else {
            serde_json::from_slice(&bytes).map_err(|error| error.to_string())
        };
        parsed
            .map(Self)
            .map_err(|error| ApiError::bad_request(format!("unable to parse JSON body: {error}")))
    }
}
