//! Pushing, pulling and deleting manifests and tags.

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION};
use axum::http::{HeaderName, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt as _;
use kiln_registry::{MAX_MANIFEST_BYTES, NewManifest, Reference, Refusal, Tag};

use super::CONTENT_DIGEST;
use super::access::Caller;
use super::dispatch::Call;
use super::error::OciResult;
use super::{drain, projects};

const SUBJECT: HeaderName = HeaderName::from_static("oci-subject");
const TAG: HeaderName = HeaderName::from_static("oci-tag");
/// More tags in one request than anybody needs.
const MAX_TAGS: usize = 32;

pub(super) async fn get_manifest(call: &Call, reference: &Reference) -> OciResult<Response> {
    let repository = call.repository()?;
    let registry = &call.app.registry;
    let manifest = match (&call.caller, reference) {
        // A job names its project and a digest; which repository the image was pushed to is not its business.
        (Caller::Runner(_), Reference::Digest(digest)) => {
            registry
                .manifest_in_project(repository.project, digest)
                .await?
        }
        _ => registry.manifest(repository, reference).await?,
    };
    let header = |text: &str| {
        HeaderValue::from_str(text).expect("media types and digests were checked when stored")
    };
    let headers = [
        (CONTENT_TYPE, header(&manifest.media_type)),
        (CONTENT_LENGTH, HeaderValue::from(manifest.body.len())),
        (CONTENT_DIGEST, header(manifest.digest.as_str())),
    ];
    let body = if call.parts.method == Method::GET {
        Body::from(manifest.body)
    } else {
        Body::empty()
    };
    Ok((StatusCode::OK, headers, body).into_response())
}

pub(super) async fn put_manifest(
    call: &Call,
    reference: Reference,
    body: Body,
) -> OciResult<Response> {
    let content_type = call.parts.headers.get(CONTENT_TYPE);
    let content_type = content_type
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let tags = tags(call)?;
    let body = receive(body).await?;
    let repository = projects::find_or_create(call).await?;
    let new = NewManifest {
        reference,
        tags: tags.clone(),
        content_type,
        body,
    };
    let pushed = call.app.registry.put_manifest(&repository, new).await?;
    let mut response = (
        StatusCode::CREATED,
        [
            (
                LOCATION,
                format!("/v2/{}/manifests/{}", call.name, pushed.digest),
            ),
            (CONTENT_DIGEST, pushed.digest.to_string()),
        ],
    )
        .into_response();
    let header =
        |text: &str| HeaderValue::from_str(text).expect("digests and tags are header values");
    let headers = response.headers_mut();
    if let Some(subject) = &pushed.subject {
        headers.insert(SUBJECT, header(subject.as_str()));
    }
    for tag in &tags {
        headers.append(TAG, header(tag.as_str()));
    }
    Ok(response)
}

pub(super) async fn delete_manifest(call: &Call, reference: &Reference) -> OciResult<Response> {
    let repository = call.repository.as_ref();
    let repository = repository.ok_or(Refusal::ManifestUnknown)?;
    call.app
        .registry
        .delete_manifest(repository, reference)
        .await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Tags beside the reference in the path.
fn tags(call: &Call) -> OciResult<Vec<Tag>> {
    let tags = call.parameters.all("tag").take(MAX_TAGS);
    tags.map(|text| Ok(text.parse::<Tag>().map_err(kiln_registry::Misroute::Tag)?))
        .collect()
}

async fn receive(body: Body) -> OciResult<Bytes> {
    let mut chunks = body.into_data_stream();
    let mut received = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| Refusal::Interrupted(error.to_string()))?;
        if received.len() + chunk.len() > MAX_MANIFEST_BYTES {
            drain::drain(&mut chunks).await;
            return Err(Refusal::ManifestTooLarge.into());
        }
        received.extend_from_slice(&chunk);
    }
    Ok(received.into())
}
