//! Pulling and deleting blobs.

use axum::body::Body;
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use kiln_model::Digest;
use kiln_registry::{Code, Refusal};

use super::CONTENT_DIGEST;
use super::bandwidth;
use super::dispatch::Call;
use super::error::{OciError, OciResult};
use crate::range::Wanted;

pub(super) async fn get_blob(call: &Call, digest: &Digest) -> OciResult<Response> {
    let repository = call.repository()?;
    let registry = &call.app.registry;
    let blob = registry.blob(repository.project, digest).await?;
    // A range is a matter of GET alone.
    let wanted = match call.parts.method {
        Method::GET => Wanted::of(&call.parts.headers, blob.size),
        _ => Wanted::All,
    };
    let (status, range) = match wanted {
        Wanted::All => (StatusCode::OK, 0..blob.size),
        Wanted::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Wanted::Nothing => return Err(unsatisfiable(blob.size)),
    };
    let headers = [
        (
            CONTENT_TYPE,
            HeaderValue::from_static("application/octet-stream"),
        ),
        (CONTENT_LENGTH, HeaderValue::from(range.end - range.start)),
        (ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        (
            CONTENT_DIGEST,
            HeaderValue::from_str(digest.as_str()).expect("a digest is a header value"),
        ),
    ];
    let part = (status == StatusCode::PARTIAL_CONTENT).then(|| {
        [(
            CONTENT_RANGE,
            format!("bytes {}-{}/{}", range.start, range.end - 1, blob.size),
        )]
    });
    let body = match call.parts.method {
        Method::GET => {
            let payer = bandwidth::admit(call, repository.project).await?;
            bandwidth::count(call, payer, range.end - range.start);
            Body::from_stream(registry.read_blob(&blob, range))
        }
        _ => Body::empty(),
    };
    let mut response = (status, headers, body).into_response();
    if let Some([(name, value)]) = part {
        let value = HeaderValue::try_from(value).expect("numbers are header values");
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

pub(super) async fn delete_blob(call: &Call, digest: &Digest) -> OciResult<Response> {
    let repository = call.repository.as_ref();
    let project = repository.ok_or(Refusal::BlobUnknown)?.project;
    call.app.registry.delete_blob(project, digest).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

fn unsatisfiable(size: u64) -> OciError {
    let value =
        HeaderValue::try_from(format!("bytes */{size}")).expect("numbers are header values");
    OciError::new(
        StatusCode::RANGE_NOT_SATISFIABLE,
        Code::Unsupported,
        format!("the blob has {size} bytes, and none where the range asks for some"),
    )
    .with_header(CONTENT_RANGE, value)
}
