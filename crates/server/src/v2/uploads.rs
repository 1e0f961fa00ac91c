//! Pushing blobs.

use axum::body::{Body, BodyDataStream};
use axum::http::header::{HeaderValue, LOCATION, RANGE};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use kiln_model::v0::Permission;
use kiln_model::{Algorithm, Digest};
use kiln_registry::{Chunk, Name, Refusal, Repository, Session, Target, UploadId};

use super::CONTENT_DIGEST;
use super::access::{self, Taking};
use super::challenge::{self, Reason};
use super::dispatch::Call;
use super::error::{OciError, OciResult};
use super::parameters::Parameters;
use super::{bandwidth, drain, projects};
use crate::range::Claimed;
use crate::token::Action;

const UPLOAD_UUID: HeaderName = HeaderName::from_static("docker-upload-uuid");

/// Starts an upload; or takes the blob from another repository; or takes it whole, if its digest is given.
pub(super) async fn start_upload(call: &Call, body: Body) -> OciResult<Response> {
    let algorithm = announced(call)?;
    let repository = projects::find_or_create(call).await?;
    if let Some(mounted) = mount(call, &repository).await? {
        return Ok(created(&call.name, &mounted));
    }
    let wants_mount =
        call.parameters.get("mount").is_some() || call.parameters.get("from").is_some();
    if call.parameters.get("digest").is_some() && !wants_mount {
        return receive(call, repository, body).await;
    }
    let upload = call
        .app
        .registry
        .start_upload(&repository, algorithm, &*call.app.entropy)
        .await?;
    Ok(progress(StatusCode::ACCEPTED, &call.name, upload, 0))
}

/// A whole blob in one request, the way stock bench clients have it.
pub(super) async fn put_blob(call: &Call, body: Body) -> OciResult<Response> {
    let repository = projects::find_or_create(call).await?;
    receive(call, repository, body).await
}

/// The repository that a blob is to be taken from, if a request for an upload asks for that.
pub(super) fn source_name(target: &Target, parameters: &Parameters) -> Option<Name> {
    matches!(target, Target::Uploads)
        .then(|| parameters.get("from")?.parse().ok())
        .flatten()
}

pub(super) async fn get_upload(call: &Call, upload: UploadId) -> OciResult<Response> {
    let session = session(call, upload)?;
    let size = call.app.registry.upload_size(&session).await?;
    Ok(progress(StatusCode::NO_CONTENT, &call.name, upload, size))
}

pub(super) async fn append_upload(
    call: &Call,
    upload: UploadId,
    body: Body,
) -> OciResult<Response> {
    let session = session(call, upload)?;
    let size = append(call, &session, None, body).await?;
    Ok(progress(StatusCode::ACCEPTED, &call.name, upload, size))
}

pub(super) async fn finish_upload(
    call: &Call,
    upload: UploadId,
    body: Body,
) -> OciResult<Response> {
    let digest = digest(call)?;
    let session = session(call, upload)?;
    finish(call, &session, &digest, body).await
}

pub(super) async fn cancel_upload(call: &Call, upload: UploadId) -> OciResult<Response> {
    let session = session(call, upload)?;
    call.app.registry.cancel_upload(&session).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn receive(call: &Call, repository: Repository, body: Body) -> OciResult<Response> {
    let digest = digest(call)?;
    let upload = call
        .app
        .registry
        .start_upload(&repository, digest.algorithm(), &*call.app.entropy)
        .await?;
    finish(call, &Session { repository, upload }, &digest, body).await
}

async fn finish(
    call: &Call,
    session: &Session,
    digest: &Digest,
    body: Body,
) -> OciResult<Response> {
    append(call, session, Some(digest.algorithm()), body).await?;
    let finished = call.app.registry.finish_upload(session, digest).await;
    finished.map_err(|error| with_progress(error, &call.name, session.upload))?;
    Ok(created(&call.name, digest))
}

/// Adds the body of the request to the upload. An empty one adds nothing.
async fn append(
    call: &Call,
    session: &Session,
    algorithm: Option<Algorithm>,
    body: Body,
) -> OciResult<u64> {
    let admitted = bandwidth::admit(call, session.repository.project).await;
    let payer = match admitted {
        Ok(payer) => payer,
        Err(refused) => {
            drain::drain(&mut body.into_data_stream()).await;
            return Err(refused);
        }
    };
    let mut body = bandwidth::counted(call, payer, body).into_data_stream();
    let appended = append_claimed(call, session, algorithm, &mut body).await;
    if appended.is_err() {
        drain::drain(&mut body).await;
    }
    appended.map_err(|error| with_progress(error, &call.name, session.upload))
}

async fn append_claimed(
    call: &Call,
    session: &Session,
    algorithm: Option<Algorithm>,
    body: &mut BodyDataStream,
) -> Result<u64, Refusal> {
    let registry = &call.app.registry;
    let (start, length) = match Claimed::of(&call.parts.headers) {
        Claimed::Anywhere => (None, None),
        Claimed::At { start, length } => (Some(start), Some(length)),
        Claimed::Nonsense => {
            let size = registry.upload_size(session).await?;
            return Err(Refusal::OutOfOrder { size });
        }
    };
    let chunk = Chunk {
        start,
        length,
        algorithm,
        body,
    };
    registry.append(session, chunk, &*call.app.entropy).await
}

/// The blob that was mounted, if one was asked for and could be.
async fn mount(call: &Call, to: &Repository) -> OciResult<Option<Digest>> {
    let parameters = &call.parameters;
    let from = parameters.get("from");
    // Stock bench clients say `digest` where the specification says `mount`; `from` tells it from an upload.
    let asked = parameters
        .get("mount")
        .or_else(|| from.and_then(|_| parameters.get("digest")));
    let Some(digest) = asked.and_then(|text| text.parse::<Digest>().ok()) else {
        return Ok(None);
    };
    let source = match from.map(str::parse::<Name>) {
        None => access::find_holder(&call.app, &call.caller, &digest).await?,
        Some(Ok(name)) => source(call, to, &name).await?,
        Some(Err(_)) => None,
    };
    let Some(source) = source else {
        return Ok(None);
    };
    let mounted = call
        .app
        .registry
        .mount_blob(&digest, source, to.project)
        .await?;
    Ok(mounted.then_some(digest))
}

/// The project that a blob may be taken from. Rights go by project, so another repository of the same one is open.
async fn source(call: &Call, to: &Repository, from: &Name) -> OciResult<Option<i64>> {
    let found = access::find(&call.app, &call.caller, from, Permission::View).await?;
    let found = found.map(|repository| repository.project);
    if found == Some(to.project) {
        return Ok(found);
    }
    match call.caller.may_take_from(from) {
        Taking::Open => Ok(found),
        Taking::Closed => Ok(None),
        // Whether or not there is such a repository: the client is to ask for a token that speaks of both.
        Taking::NotAsked => {
            let scopes = [(&call.name, Action::Push), (from, Action::Pull)];
            Err(challenge::refuse(&call.app, Reason::Insufficient, &scopes))
        }
    }
}

fn session(call: &Call, upload: UploadId) -> OciResult<Session> {
    let repository = call.repository.clone();
    let repository = repository.ok_or(Refusal::UploadUnknown)?;
    Ok(Session { repository, upload })
}

/// A client may say in advance what it will close the upload with; better to refuse now than after gigabytes.
fn announced(call: &Call) -> OciResult<Algorithm> {
    match call.parameters.get("digest-algorithm") {
        None => Ok(Algorithm::Sha256),
        Some(name) => [Algorithm::Sha256, Algorithm::Sha512]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or_else(OciError::invalid_digest),
    }
}

fn digest(call: &Call) -> OciResult<Digest> {
    let text = call
        .parameters
        .get("digest")
        .ok_or_else(OciError::invalid_digest)?;
    text.parse().map_err(|_| OciError::invalid_digest())
}

fn created(name: &Name, digest: &Digest) -> Response {
    let headers = [
        (LOCATION, format!("/v2/{name}/blobs/{digest}")),
        (CONTENT_DIGEST, digest.to_string()),
    ];
    (StatusCode::CREATED, headers).into_response()
}

fn progress(status: StatusCode, name: &Name, upload: UploadId, size: u64) -> Response {
    let headers = [
        (LOCATION, location(name, upload)),
        (RANGE, received(size)),
        (UPLOAD_UUID, upload.to_string()),
    ];
    (status, headers).into_response()
}

/// A chunk that does not fit is told where the upload stands.
fn with_progress(error: Refusal, name: &Name, upload: UploadId) -> OciError {
    let Refusal::OutOfOrder { size } = error else {
        return error.into();
    };
    let header = |text: String| {
        HeaderValue::try_from(text).expect("names, ids and numbers are header values")
    };
    OciError::from(error)
        .with_header(LOCATION, header(location(name, upload)))
        .with_header(RANGE, header(received(size)))
        .with_header(UPLOAD_UUID, header(upload.to_string()))
}

fn location(name: &Name, upload: UploadId) -> String {
    format!("/v2/{name}/blobs/uploads/{upload}")
}

/// The last byte is included, so nothing and one byte look alike: every registry has it so.
fn received(size: u64) -> String {
    format!("0-{}", size.saturating_sub(1))
}
