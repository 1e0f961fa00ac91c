//! What happens to every request and answer: a request id, one slash instead of two, the headers that browsers and stock
//! clients look for.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use kiln_model::v0::ErrorBody;
use kiln_model::{Clock, Entropy, KeyUuid};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(crate) const TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");
/// No error body of ours is longer.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// Where request ids come from.
#[derive(Clone, Debug)]
pub(crate) struct RequestIds {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

pub(crate) async fn stamp(State(ids): State<RequestIds>, request: Request, next: Next) -> Response {
    let id = KeyUuid::mint(ids.clock.wall(), &*ids.entropy).to_string();
    let path = request.uri().path();
    // The token endpoint speaks to OCI clients, in their words.
    let is_api = path.starts_with("/v0/") && !path.starts_with("/v0/auth/oci/");
    let mut response = next.run(request).await;
    if is_api && (response.status().is_client_error() || response.status().is_server_error()) {
        response = with_request_id(response, &id).await;
    }
    let headers = response.headers_mut();
    headers.insert(
        REQUEST_ID,
        HeaderValue::from_str(&id).expect("a UUID is a header value"),
    );
    if is_api {
        headers
            .entry(TOTAL_COUNT)
            .or_insert(HeaderValue::from_static("1"));
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_ORIGIN,
            HeaderValue::from_static("*"),
        );
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("X-Total-Count"),
        );
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static("Content-Type, Authorization"),
        );
    }
    response
}

/// Error bodies carry the id too; errors that come from below the handlers get a body of the same shape.
async fn with_request_id(response: Response, id: &str) -> Response {
    let (mut parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, MAX_ERROR_BODY)
        .await
        .unwrap_or_default();
    let mut error = serde_json::from_slice(&bytes).unwrap_or_else(|_| ErrorBody {
        request_id: String::new(),
        error_code: None,
        message: match String::from_utf8_lossy(&bytes).trim() {
            "" => parts
                .status
                .canonical_reason()
                .unwrap_or("error")
                .to_owned(),
            text => text.to_owned(),
        },
    });
    id.clone_into(&mut error.request_id);
    let body = serde_json::to_vec(&error).expect("an error is plain data");
    parts.headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    parts
        .headers
        .insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    Response::from_parts(parts, Body::from(body))
}

/// Stock clients send `//v0/…`.
pub(crate) fn one_slash<B>(mut request: axum::http::Request<B>) -> axum::http::Request<B> {
    let path = request.uri().path();
    if path.starts_with("//") {
        let trimmed = format!("/{}", path.trim_start_matches('/'));
        let target = match request.uri().query() {
            Some(query) => format!("{trimmed}?{query}"),
            None => trimmed,
        };
        if let Ok(uri) = target.parse::<Uri>() {
            *request.uri_mut() = uri;
        }
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sent: &str, seen: &str) {
        let request = axum::http::Request::builder().uri(sent).body(()).unwrap();
        assert_eq!(one_slash(request).uri().to_string(), seen);
    }

    #[test]
    fn leading_slashes_become_one() {
        check("//v0/server/version", "/v0/server/version");
        check("///v0/run?a=b", "/v0/run?a=b");
        check("/v2/a//b", "/v2/a//b");
    }
}
