//! Errors of the bench door, in the shape stock clients read.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use kiln_control::Denied;
use kiln_control::limits::Exceeded;
use kiln_model::v0::ErrorBody;
use kiln_store::{DatabaseErrorKind, Error as StoreError};

/// A refused request. The request id is added on the way out, where it is known.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// What there was too much of, and when there is room again.
    exceeded: Option<Exceeded>,
}

pub(crate) type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            exceeded: None,
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// Also for what the caller may not see: both look alike.
    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("there is no such {what}, or it is not visible with these credentials"),
        )
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "a valid key is needed: send `Authorization: Bearer <key>`",
        )
    }
}

impl ApiError {
    /// As stock servers have it: to send nothing is a bad request, to send something wrong is not authorized.
    pub(crate) fn no_credentials() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "unauthorized",
            "the request has no `Authorization` header: send `Authorization: Bearer <key>`",
        )
    }

    /// For what stock servers do and this one does not: `message` says what to do instead.
    pub(crate) fn not_supported(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, "not_supported", message)
    }

    pub(crate) fn forbidden() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "these credentials do not allow it",
        )
    }
}

impl From<Exceeded> for ApiError {
    fn from(exceeded: Exceeded) -> Self {
        let seconds = whole_seconds(exceeded.again);
        Self {
            exceeded: Some(exceeded),
            ..Self::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many_requests",
                format!("{exceeded}; try again in {seconds} s"),
            )
        }
    }
}

impl From<Denied> for ApiError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::NotFound(what) => Self::not_found(what),
            Denied::Invalid(message) => Self::bad_request(message),
            Denied::Store(error) => Self::from(error),
            Denied::Kernel(status) => internal(&status),
            Denied::Revoked | Denied::Unauthorized => Self::unauthorized(),
            Denied::Forbidden => Self::forbidden(),
            Denied::TooMany(exceeded) => exceeded.into(),
            Denied::TooLarge(message) => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
            }
            Denied::OutOfOrder { .. } => Self::new(
                StatusCode::RANGE_NOT_SATISFIABLE,
                "out_of_order",
                denied.to_string(),
            ),
            Denied::NotUploaded
            | Denied::Taken(_)
            | Denied::InUse { .. }
            | Denied::Conflict(_)
            | Denied::Ended(_)
            | Denied::QueueClosed
            | Denied::RetriesSpent(_)
            | Denied::Illegal { .. }
            | Denied::Raced => Self::new(StatusCode::CONFLICT, "conflict", denied.to_string()),
            Denied::NotHolder => Self::new(StatusCode::CONFLICT, "not_holder", denied.to_string()),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Database {
                kind: DatabaseErrorKind::Full,
                ..
            } => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "storage_full",
                "the server's disk is full: nothing was stored; free some space and send it again",
            ),
            StoreError::Closed => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "closing",
                "the server is shutting down: send it again in a moment",
            ),
            StoreError::Database { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Refused(_)
            | StoreError::Object { .. }
            | StoreError::Unresolved { .. }
            | StoreError::Panicked { .. } => internal(&error),
        }
    }
}

/// What went wrong is for the log, not for the caller.
fn internal(error: &dyn std::fmt::Display) -> ApiError {
    tracing::error!(%error, "a request failed");
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the server failed to answer; its log says why",
    )
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = ErrorBody {
            request_id: String::new(),
            error_code: Some(self.code.to_owned()),
            message: self.message,
        };
        let mut response = (self.status, Json(body)).into_response();
        if let Some(exceeded) = self.exceeded {
            let seconds = HeaderValue::from(whole_seconds(exceeded.again));
            response.headers_mut().insert(RETRY_AFTER, seconds);
            // For whoever counts refusals.
            response.extensions_mut().insert(exceeded.limited);
        }
        response
    }
}

/// Rounded up: whoever comes back then finds room.
pub(crate) fn whole_seconds(span: Duration) -> u64 {
    span.as_secs() + u64::from(span.subsec_nanos() > 0)
}
