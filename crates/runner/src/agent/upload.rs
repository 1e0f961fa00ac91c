//! Output that goes beside a result is brought to the server, in chunks, however often it takes.

use std::future;
use std::io::SeekFrom;
use std::path::PathBuf;
use std::sync::Arc;

use kiln_model::v0::{ErrorBody, UploadProgress};
use kiln_model::{Digest, JobUuid};
use reqwest::header::AUTHORIZATION;
use reqwest::{Method, RequestBuilder, StatusCode, Url};
use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::task::AbortOnDropHandle;

use super::limits::CONNECT_LONGEST;
use super::{Event, backoff};
use crate::Attachment;
use crate::channel::Target;
use crate::timer::Timer;

/// Small enough that little is sent twice after a cut, large enough that the server's answers do not count.
const CHUNK_BYTES: usize = 1 << 20;

/// At most one upload at a time. Dropping it stops it.
#[derive(Default)]
pub(super) struct Uploading {
    task: Option<(JobUuid, AbortOnDropHandle<bool>)>,
}

/// One upload, and everything it needs.
pub(super) struct Upload {
    pub(super) http: reqwest::Client,
    pub(super) target: Target,
    pub(super) timer: Arc<dyn Timer>,
    pub(super) job: JobUuid,
    pub(super) large: Attachment,
    pub(super) path: PathBuf,
}

/// Why an attempt came to nothing.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    /// The server does not want it; asking again would not help.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    ForNow(String),
    #[error("cannot read the spooled output")]
    Spool(#[from] std::io::Error),
    #[error(transparent)]
    Network(#[from] reqwest::Error),
}

impl Uploading {
    pub(super) fn start(upload: Upload) -> Self {
        let job = upload.job;
        let task = AbortOnDropHandle::new(tokio::spawn(upload.run()));
        Self {
            task: Some((job, task)),
        }
    }

    /// Waits for the end of the upload; for ever if there is none.
    pub(super) async fn next(&mut self) -> Event {
        let Some((job, task)) = &mut self.task else {
            return future::pending().await;
        };
        let (job, taken) = (*job, task.await.unwrap_or(false));
        self.task = None;
        Event::Uploaded { job, taken }
    }
}

impl Upload {
    /// Whether the server has it in the end. Trouble that passes is waited for.
    async fn run(self) -> bool {
        let job = self.job;
        let mut attempts = 0;
        loop {
            match self.attempt().await {
                Ok(()) => return true,
                Err(error @ (Trouble::Refused(_) | Trouble::Spool(_))) => {
                    tracing::warn!(
                        job.id = %job,
                        error = &error as &dyn std::error::Error,
                        "the output of job {job} beyond its beginning is not delivered"
                    );
                    return false;
                }
                Err(error @ (Trouble::ForNow(_) | Trouble::Network(_))) => {
                    tracing::info!(
                        job.id = %job,
                        error = &error as &dyn std::error::Error,
                        "the upload of the output of job {job} was cut off and goes on"
                    );
                }
            }
            let now = self.timer.monotonic();
            self.timer
                .sleep_until(now + backoff::delay(attempts, 0, CONNECT_LONGEST))
                .await;
            attempts += 1;
        }
    }

    /// Goes on where the server is.
    async fn attempt(&self) -> Result<(), Trouble> {
        let url = self.target.upload_url(self.job, &self.large.digest);
        let mut progress = self.progress(&url).await?;
        let mut file = File::open(&self.path).await?;
        while !progress.complete && progress.received < self.large.size {
            let chunk = read(&mut file, progress.received).await?;
            let before = progress.received;
            progress = self.put(&url, before, chunk).await?;
            if progress.received <= before {
                return Err(Trouble::ForNow("the server took nothing".to_owned()));
            }
        }
        if !progress.complete {
            progress = ask(self.request(Method::POST, &url)).await?;
        }
        if progress.complete {
            Ok(())
        } else {
            Err(Trouble::ForNow("the server misses a part".to_owned()))
        }
    }

    async fn progress(&self, url: &Url) -> Result<UploadProgress, Trouble> {
        match ask(self.request(Method::GET, url)).await {
            // It has not begun, or the job is not ours: the first chunk tells which.
            Err(Trouble::Refused(_)) => Ok(UploadProgress {
                received: 0,
                complete: false,
            }),
            other => other,
        }
    }

    async fn put(&self, url: &Url, start: u64, chunk: Vec<u8>) -> Result<UploadProgress, Trouble> {
        let digest = Digest::from_hash(&Sha256::digest(&chunk)).expect("a SHA-256 has 32 bytes");
        let mut url = url.clone();
        url.query_pairs_mut()
            .append_pair("start", &start.to_string())
            .append_pair("size", &self.large.size.to_string())
            .append_pair("chunk", digest.as_str());
        ask(self.request(Method::PUT, &url).body(chunk)).await
    }

    fn request(&self, method: Method, url: &Url) -> RequestBuilder {
        self.http
            .request(method, url.clone())
            .header(AUTHORIZATION, self.target.authorization().clone())
    }
}

async fn read(file: &mut File, start: u64) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start)).await?;
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    file.take(CHUNK_BYTES as u64)
        .read_to_end(&mut chunk)
        .await?;
    Ok(chunk)
}

async fn ask(request: RequestBuilder) -> Result<UploadProgress, Trouble> {
    let answer = request.send().await?;
    let status = answer.status();
    if status.is_success() {
        return Ok(answer.json().await?);
    }
    let said = answer.json::<ErrorBody>().await.ok();
    let said = said.map_or_else(
        || format!("the server answered {status}"),
        |body| body.message,
    );
    match status {
        StatusCode::NOT_FOUND
        | StatusCode::CONFLICT
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::METHOD_NOT_ALLOWED
        | StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN => Err(Trouble::Refused(said)),
        _ => Err(Trouble::ForNow(said)),
    }
}
