//! What a job's process wrote: a text of it, whole or in part.

use std::ops::Range;

use axum::body::Body;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use kiln_control::Denied;
use kiln_model::JobUuid;
use kiln_model::v0::{IterationOutput, JobOutput, LargeText, Permission, TextKind};
use kiln_store::sql::job_upload::{self, Upload};
use kiln_store::{ObjectKey, ObjectReader, Query};
use serde::Deserialize;

use super::jobs::{self, Written};
use crate::app::{App, Shared};
use crate::error::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::range::Wanted;

#[derive(Debug, Deserialize)]
pub(super) struct Which {
    /// Of a file.
    path: Option<String>,
}

/// Where a text is.
enum Text {
    /// In the stored output itself.
    Here(Bytes),
    /// A part of what the runner uploaded.
    Uploaded {
        upload: Box<Upload>,
        start: u64,
        size: u64,
    },
}

/// `GET /v0/projects/{project}/jobs/{job}/output/{iteration}/{stream}`: `stdout`, `stderr`, or `file` with its `path`.
pub(super) async fn get_output(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, job, iteration, stream)): Path<(String, JobUuid, u64, TextKind)>,
    UrlQuery(which): UrlQuery<Which>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let read = move |query: &mut dyn Query| {
        let found = jobs::find(query, &caller, &project, job, Permission::View)?;
        // What a program wrote is for those who can be named.
        let may_see = found.life.status.is_ended() && !caller.is_anonymous();
        let output = jobs::written(query, &found)?;
        let output = output
            .filter(|_| may_see)
            .ok_or(Denied::NotFound("output"))?;
        let uploads = job_upload::named(query, found.id, found.life.epoch)?;
        Ok::<_, Denied>((output, uploads))
    };
    let (output, uploads) = app.store.reader.read(read).await?;
    let output = match output {
        Written::Stored(output) => jobs::load(&app, output).await?,
        Written::Partial(output) => output,
    };
    let text = find(output, uploads, iteration, stream, which.path.as_deref())
        .ok_or_else(|| ApiError::not_found("output"))?;
    answer(&app, text, &headers).await
}

fn find(
    mut output: JobOutput,
    uploads: Vec<Upload>,
    iteration: u64,
    stream: TextKind,
    path: Option<&str>,
) -> Option<Text> {
    if let Some(large) = output.large.take() {
        let is_it = |text: &&LargeText| {
            let same_path = stream != TextKind::File || text.path.as_deref() == path;
            text.iteration == iteration && text.stream == stream && same_path
        };
        let upload = uploads
            .into_iter()
            .find(|upload| upload.digest == large.digest);
        if let Some((text, upload)) = large.texts.iter().find(is_it).zip(upload) {
            return Some(Text::Uploaded {
                upload: Box::new(upload),
                start: text.start,
                size: text.size,
            });
        }
    }
    let index = usize::try_from(iteration).ok()?;
    let iteration: IterationOutput = output.results.into_iter().nth(index)?;
    let text = match stream {
        TextKind::Stdout => iteration.stdout,
        TextKind::Stderr => iteration.stderr,
        TextKind::File => iteration.output?.remove(path?),
    };
    text.map(|text| Text::Here(Bytes::from(text)))
}

async fn answer(app: &App, text: Text, headers: &HeaderMap) -> ApiResult<Response> {
    let whole = match &text {
        Text::Here(bytes) => bytes.len() as u64,
        Text::Uploaded { size, .. } => *size,
    };
    let (status, range) = match Wanted::of(headers, whole) {
        Wanted::All => (StatusCode::OK, 0..whole),
        Wanted::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Wanted::Nothing => {
            return Err(ApiError::new(
                StatusCode::RANGE_NOT_SATISFIABLE,
                "invalid",
                format!("the text has {whole} bytes, and none where the range asks for some"),
            ));
        }
    };
    let mut response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "text/plain; charset=utf-8")
        .header(ACCEPT_RANGES, "bytes")
        .header(CONTENT_LENGTH, range.end - range.start);
    if status == StatusCode::PARTIAL_CONTENT {
        let part = format!("bytes {}-{}/{whole}", range.start, range.end - 1);
        response = response.header(CONTENT_RANGE, part);
    }
    let body = body(app, text, range).await?;
    Ok(response.body(body).expect("numbers are header values"))
}

async fn body(app: &App, text: Text, range: Range<u64>) -> ApiResult<Body> {
    let (upload, start) = match text {
        Text::Here(bytes) => {
            let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            return Ok(Body::from(
                bytes.slice(place(range.start)..place(range.end)),
            ));
        }
        Text::Uploaded { upload, start, .. } => (upload, start),
    };
    let key = ObjectKey::parse(&upload.object_key).map_err(|error| jobs::corrupt(&error))?;
    let (from, until) = (start + range.start, start + range.end);
    let objects = &app.store.objects;
    let reader = objects
        .read_range(&key, &upload.digest, from, until)
        .await?;
    Ok(Body::from_stream(stream::unfold(Some(reader), next)))
}

/// A part that cannot be read cuts the answer off: what was sent before it is right.
async fn next(
    reader: Option<ObjectReader>,
) -> Option<(Result<Bytes, kiln_store::Error>, Option<ObjectReader>)> {
    let mut reader = reader?;
    match reader.next().await {
        Ok(Some(bytes)) => Some((Ok(bytes), Some(reader))),
        Ok(None) => None,
        Err(error) => Some((Err(error), None)),
    }
}
