//! What happens to every request and answer: a request id, one slash instead of two, the headers that browsers and stock
//! clients look for.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use kiln_model::v0::ErrorBody;
use kiln_model::{Clock, Entropy, KeyUuid};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(crate) const TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");
const ANY_METHOD: &str = "GET, POST, PUT, PATCH, DELETE, OPTIONS";
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
    let method = request.method().clone();
    let mut response = next.run(request).await;
    if is_api && method == Method::OPTIONS {
        response = preflight(response);
    }
    if is_api && (response.status().is_client_error() || response.status().is_server_error()) {
        response = with_request_id(response, &id).await;
    }
    let status = response.status();
    let failed = status.is_client_error() || status.is_server_error();
    let empty = status == StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(
        REQUEST_ID,
        HeaderValue::from_str(&id).expect("a UUID is a header value"),
    );
    if is_api {
        if !failed {
            let count = if empty { "0" } else { "1" };
            headers
                .entry(TOTAL_COUNT)
                .or_insert(HeaderValue::from_static(count));
        }
        let methods = if failed { ANY_METHOD } else { method.as_str() };
        headers
            .entry(header::ACCESS_CONTROL_ALLOW_METHODS)
            .or_insert(HeaderValue::from_str(methods).expect("a method is a header value"));
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

/// Browsers ask first what they may send. The router answers a method that a path does not have with those it has.
fn preflight(response: Response) -> Response {
    let allowed = response.headers().get(header::ALLOW);
    let (StatusCode::METHOD_NOT_ALLOWED, Some(allowed)) = (response.status(), allowed) else {
        return response;
    };
    let methods: Vec<&str> = allowed
        .to_str()
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|method| *method != "HEAD")
        .collect();
    let methods = HeaderValue::from_str(&methods.join(", ")).expect("methods are a header value");
    let mut answer = Json(()).into_response();
    answer
        .headers_mut()
        .insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    answer
}

/// Error bodies carry the id too; errors that come from below the handlers get a body of the same shape.
async fn with_request_id(response: Response, id: &str) -> Response {
    let (mut parts, body) = response.into_parts();
    // The framework tells a body of the wrong shape from one that is no JSON; stock clients know 400 for both.
    if parts.status == StatusCode::UNPROCESSABLE_ENTITY {
        parts.status = StatusCode::BAD_REQUEST;
    }
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

    #[tokio::test]
    async fn a_body_of_the_wrong_shape_is_a_bad_request_that_says_why() {
        let response = Response::builder()
            .status(StatusCode::UNPROCESSABLE_ENTITY)
            .body(Body::from(
                "settings.adapter: there is no adapter \"fortran\"",
            ))
            .unwrap();
        let response = with_request_id(response, "an id").await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        let bytes = axum::body::to_bytes(response.into_body(), MAX_ERROR_BODY)
            .await
            .unwrap();
        let error: ErrorBody = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(error.request_id, "an id");
        assert!(error.message.contains("fortran"), "{}", error.message);
    }
}
