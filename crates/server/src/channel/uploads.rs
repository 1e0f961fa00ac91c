//! Output that does not fit into one message, uploaded beside the channel.
//!
//! A runner asks how far its upload has come, puts the next chunk, and at the end has the whole checked; each of the three
//! may be done again and again. What is not finished when the runner or this server dies goes on where it was.

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use bytes::Bytes;
use kiln_control::Denied;
use kiln_control::outputs::{self, Chunk, Holding};
use kiln_model::v0::UploadProgress;
use kiln_model::{Digest, JobUuid};
use kiln_store::sql::job_upload::{self, State as UploadState, Upload};
use kiln_store::{ObjectKey, Tx};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{authenticate, words};
use crate::app::{App, Shared};
use crate::error::{ApiError, ApiResult};
use crate::keeper;

/// A chunk is held in memory while it is checked.
const MAX_CHUNK: usize = 4 << 20;

/// Where a chunk belongs.
#[derive(Debug, Deserialize)]
pub(crate) struct Place {
    start: u64,
    /// Of the whole.
    size: u64,
    /// The SHA-256 of the chunk.
    chunk: Digest,
}

/// `GET /v0/runners/{runner}/jobs/{job}/output/{digest}`: how far the upload has come.
pub(crate) async fn get_upload_progress(
    State(app): State<Shared>,
    Path((runner, job, digest)): Path<(String, JobUuid, Digest)>,
    parts: Parts,
) -> ApiResult<Json<UploadProgress>> {
    let holding = holding(&app, runner, job, &parts).await?;
    let upload = find(&app, holding, &digest).await?;
    Ok(Json(outputs::progress(&upload)))
}

/// `PUT …/output/{digest}?start=0&size=9&chunk=sha256:…`: the next chunk.
pub(crate) async fn put_upload_chunk(
    State(app): State<Shared>,
    Path((runner, job, digest)): Path<(String, JobUuid, Digest)>,
    UrlQuery(place): UrlQuery<Place>,
    parts: Parts,
    body: Body,
) -> ApiResult<Json<UploadProgress>> {
    let holding = holding(&app, runner, job, &parts).await?;
    let bytes = receive(body, &place.chunk).await?;
    let chunk = Chunk {
        start: place.start,
        size: bytes.len() as u64,
        digest: place.chunk,
    };
    let upload = begin(&app, holding, &digest, place.size).await?;
    if !outputs::is_new(&upload, &chunk)? {
        return Ok(Json(outputs::progress(&upload)));
    }
    // First the bytes, then the row that speaks of them.
    let key = chunk.object_key(&upload);
    let mut writer = app.store.objects.put_named(key, Some(chunk.digest.clone()));
    writer.write(&bytes).await?;
    writer.finish().await?;
    let append = move |tx: &mut dyn Tx| outputs::append(tx, holding, &digest, &chunk);
    Ok(Json(app.store.ledger.submit(append).await?))
}

/// `POST …/output/{digest}`: nothing is missing; the whole is checked and kept.
pub(crate) async fn finish_upload(
    State(app): State<Shared>,
    Path((runner, job, digest)): Path<(String, JobUuid, Digest)>,
    parts: Parts,
) -> ApiResult<Json<UploadProgress>> {
    let holding = holding(&app, runner, job, &parts).await?;
    let upload = find(&app, holding, &digest).await?;
    if upload.state == UploadState::Receiving {
        if upload.received != upload.size {
            let received = upload.received;
            return Err(Denied::OutOfOrder { received }.into());
        }
        assemble(&app, &upload).await?;
        let whole = upload.clone();
        let finish = move |tx: &mut dyn Tx| outputs::finished(tx, &whole);
        app.store.ledger.submit(finish).await?;
        // What a crash leaves of them, housekeeping finds.
        keeper::remove_pieces(&app.store, &upload).await?;
    }
    let upload = find(&app, holding, &digest).await?;
    Ok(Json(outputs::progress(&upload)))
}

async fn holding(app: &App, runner: String, job: JobUuid, parts: &Parts) -> ApiResult<Holding> {
    let runner = authenticate(app, runner, parts).await?;
    Ok(Holding {
        credential: words::credential(&runner),
        job,
    })
}

async fn find(app: &App, holding: Holding, digest: &Digest) -> ApiResult<Upload> {
    let digest = digest.clone();
    let find = move |tx: &mut dyn Tx| outputs::find(tx, holding, &digest);
    Ok(app.store.ledger.submit(find).await?)
}

async fn begin(app: &App, holding: Holding, digest: &Digest, size: u64) -> ApiResult<Upload> {
    let (digest, limit) = (digest.clone(), app.output_limit);
    let begin = move |tx: &mut dyn Tx| outputs::begin(tx, holding, &digest, size, limit);
    Ok(app.store.ledger.submit(begin).await?)
}

/// The bytes of a chunk, if they are what they should be.
async fn receive(body: Body, expected: &Digest) -> ApiResult<Bytes> {
    let bytes = to_bytes(body, MAX_CHUNK).await.map_err(|_| {
        ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("a chunk has at most {MAX_CHUNK} bytes, or it was cut off"),
        )
    })?;
    let found = Digest::from_hash(&Sha256::digest(&bytes)).expect("SHA-256 has 32 bytes");
    if bytes.is_empty() {
        return Err(ApiError::bad_request("the chunk is empty"));
    }
    if found == *expected {
        Ok(bytes)
    } else {
        Err(ApiError::bad_request(format!(
            "the chunk hashes to {found} and not to {expected}: send it again"
        )))
    }
}

/// Makes one object of the pieces. Bytes that are not what was announced are dropped: they would never become right.
async fn assemble(app: &App, upload: &Upload) -> ApiResult<()> {
    let id = upload.id;
    let read =
        move |query: &mut dyn kiln_store::Query| Ok::<_, Denied>(job_upload::pieces(query, id)?);
    let pieces = app.store.reader.read(read).await?;
    let objects = &app.store.objects;
    let mut writer = objects.put_named(key(&upload.object_key)?, Some(upload.digest.clone()));
    for piece in pieces {
        let mut bytes = objects
            .read_named(&key(&piece.object_key)?, &piece.digest)
            .await?;
        while let Some(bytes) = bytes.next().await? {
            writer.write(&bytes).await?;
        }
    }
    let found = writer.sha256().map(|hash| hash.clone().finalize());
    let found = found.and_then(|hash| Digest::from_hash(&hash));
    if found.as_ref() != Some(&upload.digest) {
        let wrong = upload.clone();
        let discard = move |tx: &mut dyn Tx| outputs::discard(tx, &wrong);
        app.store.ledger.submit(discard).await?;
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            "digest_mismatch",
            format!(
                "what was uploaded does not hash to {} and was dropped",
                upload.digest
            ),
        ));
    }
    writer.finish().await?;
    Ok(())
}

fn key(text: &str) -> ApiResult<ObjectKey> {
    ObjectKey::parse(text).map_err(|error| {
        ApiError::from(kiln_store::Error::Corrupt {
            what: error.to_string(),
        })
    })
}
