//! Tags and referrers, page by page.

use axum::Json;
use axum::http::header::{CONTENT_TYPE, HeaderValue, LINK};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use kiln_model::Digest;
use kiln_registry::{Code, MAX_PAGE, Page};
use serde_json::json;

use super::dispatch::Call;
use super::error::{OciError, OciResult};

const FILTERS_APPLIED: HeaderName = HeaderName::from_static("oci-filters-applied");
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// As many tags as a client gets that does not say how many it wants.
const DEFAULT_TAGS: u32 = 100;

pub(super) async fn list_tags(call: &Call) -> OciResult<Response> {
    let limit = limit(call)?;
    let last = call.parameters.get("last").map(str::to_owned);
    let repository = call.repository()?;
    let page = call.app.registry.tags(repository, last, limit).await?;
    let next = page.entries.last().filter(|_| page.more);
    let next = next.map(|last| format!("/v2/{}/tags/list?n={limit}&last={last}", call.name));
    let body = Json(json!({ "name": call.name.as_str(), "tags": page.entries }));
    Ok(with_next(body.into_response(), next))
}

pub(super) async fn list_referrers(call: &Call, subject: &Digest) -> OciResult<Response> {
    let artifact_type = call
        .parameters
        .get("artifactType")
        .filter(|text| !text.is_empty());
    let last = call.parameters.get("last").map(str::parse).transpose();
    let last: Option<Digest> = last.map_err(|_| OciError::invalid_digest())?;
    // A name nobody has used has no referrers, like any other: the specification knows no error here.
    let page = match &call.repository {
        Some(repository) => {
            let filter = artifact_type.map(str::to_owned);
            call.app
                .registry
                .referrers(repository, subject, filter, last)
                .await?
        }
        None => Page {
            entries: Vec::new(),
            more: false,
        },
    };
    let next = page.entries.last().filter(|_| page.more).map(|last| {
        let filter = artifact_type
            .map(|text| format!("&artifactType={}", encode(text)))
            .unwrap_or_default();
        format!(
            "/v2/{}/referrers/{subject}?last={}{filter}",
            call.name, last.digest
        )
    });
    let body = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": page.entries });
    let mut response = Json(body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(INDEX));
    if artifact_type.is_some() {
        headers.insert(FILTERS_APPLIED, HeaderValue::from_static("artifactType"));
    }
    Ok(with_next(response, next))
}

fn limit(call: &Call) -> OciResult<u32> {
    let Some(text) = call.parameters.get("n") else {
        return Ok(DEFAULT_TAGS);
    };
    let number = text.parse::<u64>().map_err(|_| {
        OciError::new(
            StatusCode::BAD_REQUEST,
            Code::Unsupported,
            "`n` is how many entries to list: a number",
        )
    })?;
    Ok(u32::try_from(number).unwrap_or(MAX_PAGE).min(MAX_PAGE))
}

fn with_next(mut response: Response, next: Option<String>) -> Response {
    if let Some(value) =
        next.and_then(|url| HeaderValue::try_from(format!("<{url}>; rel=\"next\"")).ok())
    {
        response.headers_mut().insert(LINK, value);
    }
    response
}

/// A parameter's value, with everything but letters, digits and a few signs written as `%XX`.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'/' => {
                encoded.push(char::from(byte));
            }
            _ => {
                encoded.push('%');
                encoded.push(hex(byte >> 4));
                encoded.push(hex(byte & 15));
            }
        }
    }
    encoded
}

fn hex(digit: u8) -> char {
    char::from_digit(u32::from(digit), 16)
        .expect("four bits are a hex digit")
        .to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_link_carries_cannot_leave_its_parameter() {
        assert_eq!(encode("application/vnd.x+json"), "application/vnd.x%2Bjson");
        assert_eq!(encode("a&b=c> \n"), "a%26b%3Dc%3E%20%0A");
    }
}
