//! What can go wrong with a registry, and which image it was about.

use kiln_model::Digest;
use reqwest::StatusCode;
use serde::Deserialize;

use crate::MediaType;
use crate::image::ImageError;
use crate::layout::LayoutError;
use crate::limits::MAX_MANIFEST_BYTES;
use crate::manifest::ManifestError;

/// A transfer failed; the reason is its source.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {reference}")]
pub struct RemoteError {
    pub action: &'static str,
    /// The image, with its registry.
    pub reference: String,
    #[source]
    pub kind: Box<RemoteErrorKind>,
}

#[derive(Debug, thiserror::Error)]
pub enum RemoteErrorKind {
    #[error("the registry cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    #[error("the connection to the registry broke")]
    Broken(#[source] reqwest::Error),
    #[error("the registry sent nothing for {0} seconds")]
    Stalled(u64),
    #[error("the registry refuses these credentials: {0}")]
    Unauthorized(String),
    #[error("the registry has no such image: {0}")]
    NotFound(String),
    #[error("the registry answered {status}: {message}")]
    Status { status: StatusCode, message: String },
    #[error("the registry's answer makes no sense: {0}")]
    Protocol(&'static str),
    #[error("manifest is larger than the {MAX_MANIFEST_BYTES} bytes allowed")]
    ManifestTooLarge,
    #[error("manifest should hash to {expected} but hashes to {actual}")]
    ManifestDigest { expected: Digest, actual: Digest },
    #[error("blob {digest} has {actual} bytes, its descriptor says {expected}")]
    BlobSize {
        digest: Digest,
        expected: u64,
        actual: u64,
    },
    #[error("blob {digest} ended after {actual} of {expected} bytes")]
    Truncated {
        digest: Digest,
        expected: u64,
        actual: u64,
    },
    #[error("image has {count} layers, more than the {limit} allowed")]
    TooManyLayers { count: usize, limit: usize },
    #[error("layer {layer} has {size} bytes, more than the {limit} allowed")]
    LayerTooLarge {
        layer: Digest,
        size: u64,
        limit: u64,
    },
    #[error("layer {layer} is of type {media_type}, which is not a layer Kiln can unpack")]
    UnsupportedLayer {
        layer: Digest,
        media_type: MediaType,
    },
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

impl RemoteErrorKind {
    /// Whether the same request may work a moment later.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Broken(_) | Self::Stalled(_) | Self::Truncated { .. } => {
                true
            }
            Self::Status { status, .. } => {
                status.is_server_error()
                    || matches!(
                        *status,
                        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
                    )
            }
            Self::Unauthorized(_)
            | Self::NotFound(_)
            | Self::Protocol(_)
            | Self::ManifestTooLarge
            | Self::ManifestDigest { .. }
            | Self::BlobSize { .. }
            | Self::TooManyLayers { .. }
            | Self::LayerTooLarge { .. }
            | Self::UnsupportedLayer { .. }
            | Self::Manifest(_)
            | Self::Image(_)
            | Self::Layout(_) => false,
        }
    }

    /// The error for a status nobody wanted, with what the body says about it.
    pub(super) fn from_status(status: StatusCode, body: &[u8]) -> Self {
        let message = explain(body).unwrap_or_else(|| {
            status
                .canonical_reason()
                .unwrap_or("no reason given")
                .to_owned()
        });
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Self::Unauthorized(message),
            StatusCode::NOT_FOUND => Self::NotFound(message),
            _ => Self::Status { status, message },
        }
    }
}

impl From<reqwest::Error> for RemoteErrorKind {
    /// URLs stay out of messages: a redirect's may carry a signature.
    fn from(error: reqwest::Error) -> Self {
        let error = error.without_url();
        if error.is_connect() {
            Self::Unreachable(error)
        } else {
            Self::Broken(error)
        }
    }
}

#[derive(Deserialize)]
struct Errors {
    errors: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    code: String,
    #[serde(default)]
    message: Option<String>,
}

/// Some servers wrap the standard body, as text, into one of their own.
#[derive(Deserialize)]
struct Wrapped {
    message: String,
}

fn explain(body: &[u8]) -> Option<String> {
    const SHOWN_CHARACTERS: usize = 300;
    let errors = serde_json::from_slice::<Errors>(body).ok().or_else(|| {
        let wrapped: Wrapped = serde_json::from_slice(body).ok()?;
        serde_json::from_str(&wrapped.message).ok()
    })?;
    let first = errors.errors.into_iter().next()?;
    let text = match first.message {
        Some(message) if !message.is_empty() => format!("{} ({message})", first.code),
        _ => first.code,
    };
    Some(
        text.chars()
            .filter(|c| !c.is_control())
            .take(SHOWN_CHARACTERS)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &str) {
        let kind = RemoteErrorKind::from_status(StatusCode::NOT_FOUND, body.as_bytes());
        assert!(
            matches!(&kind, RemoteErrorKind::NotFound(text) if text == expected),
            "{kind:?}"
        );
    }

    #[test]
    fn the_standard_body_and_its_wrapped_form_are_explained() {
        check(
            r#"{"errors":[{"code":"NAME_UNKNOWN","message":"who?"}]}"#,
            "NAME_UNKNOWN (who?)",
        );
        check(
            r#"{"request_id":"x","message":"{\"errors\":[{\"code\":\"MANIFEST_UNKNOWN\"}]}"}"#,
            "MANIFEST_UNKNOWN",
        );
        check("<html>", "Not Found");
    }

    #[test]
    fn terminal_escapes_do_not_get_through() {
        check(
            "{\"errors\":[{\"code\":\"X\",\"message\":\"\\u001b[2Jhi\"}]}",
            "X ([2Jhi)",
        );
    }
}
