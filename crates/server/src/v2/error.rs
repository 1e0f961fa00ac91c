//! Errors in the registry's own shape.

use axum::Json;
use axum::http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use kiln_control::Denied;
use kiln_control::limits::Limited;
use kiln_model::Digest;
use kiln_registry::{Code, Misroute, Refusal};
use kiln_store::{DatabaseErrorKind, Error as StoreError, ObjectErrorKind};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::whole_seconds;

pub(super) type OciResult<T> = Result<T, OciError>;

/// A refused request.
#[derive(Debug)]
pub(super) struct OciError {
    status: StatusCode,
    errors: Vec<Entry>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// What there was too much of.
    exceeded: Option<Limited>,
}

#[derive(Debug, Serialize)]
struct Entry {
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    detail: Value,
}

impl OciError {
    pub(super) fn new(status: StatusCode, code: Code, message: impl Into<String>) -> Self {
        let entry = Entry {
            code: code.as_str(),
            message: message.into(),
            detail: Value::Null,
        };
        Self {
            status,
            errors: vec![entry],
            headers: Vec::new(),
            exceeded: None,
        }
    }

    /// Sends the client to the token endpoint.
    pub(super) fn unauthorized(challenge: &str) -> Self {
        let error = Self::new(
            StatusCode::UNAUTHORIZED,
            Code::Unauthorized,
            "authentication required",
        );
        match HeaderValue::from_str(challenge) {
            Ok(value) => error.with_header(WWW_AUTHENTICATE, value),
            Err(_) => error,
        }
    }

    pub(super) fn name_unknown() -> Self {
        Refusal::NameUnknown.into()
    }

    pub(super) fn invalid_digest() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            Code::DigestInvalid,
            Misroute::Digest.to_string(),
        )
    }

    pub(super) fn method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            Code::Unsupported,
            "this path does not know this method",
        )
    }

    pub(super) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// One entry for each thing that is missing.
    fn missing(digests: Vec<Digest>, message: &str) -> Self {
        let entry = |digest: Digest| Entry {
            code: Code::ManifestBlobUnknown.as_str(),
            message: message.to_owned(),
            detail: json!({ "digest": digest }),
        };
        let errors = digests.into_iter().map(entry).collect();
        Self {
            status: StatusCode::NOT_FOUND,
            errors,
            headers: Vec::new(),
            exceeded: None,
        }
    }
}

impl From<Misroute> for OciError {
    fn from(misroute: Misroute) -> Self {
        let (status, code) = match misroute {
            Misroute::Nothing => (StatusCode::NOT_FOUND, Code::Unsupported),
            Misroute::Name(_) => (StatusCode::BAD_REQUEST, Code::NameInvalid),
            Misroute::Digest => (StatusCode::BAD_REQUEST, Code::DigestInvalid),
            Misroute::Tag(_) => (StatusCode::BAD_REQUEST, Code::TagInvalid),
            Misroute::Upload => (StatusCode::NOT_FOUND, Code::BlobUploadUnknown),
        };
        Self::new(status, code, misroute.to_string())
    }
}

impl From<Refusal> for OciError {
    fn from(error: Refusal) -> Self {
        let (code, message) = (error.code(), error.to_string());
        let status = match error {
            Refusal::NameUnknown
            | Refusal::BlobUnknown
            | Refusal::ManifestUnknown
            | Refusal::UploadUnknown => StatusCode::NOT_FOUND,
            Refusal::BlobNamed { .. } | Refusal::ManifestNamed { .. } => {
                StatusCode::METHOD_NOT_ALLOWED
            }
            Refusal::ManifestInvalid(_)
            | Refusal::WrongLength { .. }
            | Refusal::WrongDigest { .. }
            | Refusal::Interrupted(_) => StatusCode::BAD_REQUEST,
            Refusal::QuotaExceeded => StatusCode::FORBIDDEN,
            Refusal::ManifestTooLarge | Refusal::BlobTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::OutOfOrder { .. } => StatusCode::RANGE_NOT_SATISFIABLE,
            Refusal::ContentMissing(digests) => return Self::missing(digests, &message),
            Refusal::Store(error) => return error.into(),
        };
        Self::new(status, code, message)
    }
}

impl From<StoreError> for OciError {
    fn from(error: StoreError) -> Self {
        if matches!(
            error,
            StoreError::Database {
                kind: DatabaseErrorKind::Full,
                ..
            } | StoreError::Object {
                kind: ObjectErrorKind::Full,
                ..
            }
        ) {
            let message =
                "the server's disk is full: nothing was stored; free some space and send it again";
            return Self::new(StatusCode::INSUFFICIENT_STORAGE, Code::Unknown, message);
        }
        if matches!(error, StoreError::Closed) {
            let message = "the server is shutting down: send it again in a moment";
            return Self::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unknown, message);
        }
        tracing::error!(%error, "a registry request failed");
        let message = "the server failed to answer; its log says why";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Unknown, message)
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the registry has one word for whatever else is not allowed"
)]
impl From<Denied> for OciError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Store(error) => error.into(),
            Denied::TooMany(exceeded) => {
                let seconds = whole_seconds(exceeded.again);
                let status = StatusCode::TOO_MANY_REQUESTS;
                let refused = Self::new(status, Code::TooManyRequests, exceeded.to_string());
                Self {
                    exceeded: Some(exceeded.limited),
                    ..refused.with_header(RETRY_AFTER, HeaderValue::from(seconds))
                }
            }
            denied => Self::new(StatusCode::FORBIDDEN, Code::Denied, denied.to_string()),
        }
    }
}

impl IntoResponse for OciError {
    fn into_response(self) -> Response {
        let body = Json(json!({ "errors": self.errors }));
        let mut response = (self.status, body).into_response();
        response.headers_mut().extend(self.headers);
        if let Some(limited) = self.exceeded {
            // For whoever counts refusals.
            response.extensions_mut().insert(limited);
        }
        response
    }
}
