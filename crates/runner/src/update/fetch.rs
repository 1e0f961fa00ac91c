//! Getting a new program, and finding out whether it is the right one and works here.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use futures_util::StreamExt as _;
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::{Offer, Program, UpdateError, failed};

/// Many times what a runner has.
const MAX_BYTES: u64 = 500 << 20;

/// For fetching all of it, on a slow line too.
const FETCH_WITHIN: Duration = Duration::from_mins(30);

/// For saying one line.
const SPEAK_WITHIN: Duration = Duration::from_secs(30);
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// A program that was fetched and checked, beside the installed one. Dropping it removes it.
#[derive(Debug)]
pub struct Candidate {
    path: Option<PathBuf>,
}

impl Program {
    /// Fetches what is offered. Nothing of the installed program is changed.
    pub async fn fetch(
        &self,
        http: &reqwest::Client,
        offer: &Offer,
    ) -> Result<Candidate, UpdateError> {
        if self.has_rejected(&offer.checksum) {
            return Err(UpdateError::Rejected {
                version: offer.version.clone(),
            });
        }
        let path = self.beside(".new");
        let candidate = Candidate {
            path: Some(path.clone()),
        };
        let mut file = File::create(&path).map_err(failed("write", &path))?;
        let found = timeout(FETCH_WITHIN, download(http, &offer.url, &mut file, &path))
            .await
            .unwrap_or_else(|_| {
                Err(UpdateError::Slow {
                    within: FETCH_WITHIN,
                })
            })?;
        if !offer.has_checksum(&found) {
            return Err(UpdateError::Checksum {
                expected: offer.checksum.clone(),
                found,
            });
        }
        let executable = std::fs::Permissions::from_mode(0o755);
        file.set_permissions(executable)
            .and_then(|()| file.sync_all())
            .map_err(failed("write", &path))?;
        drop(file);
        check_health(&path).await?;
        Ok(candidate)
    }
}

impl Candidate {
    /// The file, which is the caller's from now on.
    pub(super) fn into_path(mut self) -> PathBuf {
        self.path
            .take()
            .expect("a candidate has its file until now")
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // One that was never written is gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Writes what is at the URL to a file. Its SHA-256.
async fn download(
    http: &reqwest::Client,
    url: &str,
    file: &mut File,
    path: &std::path::Path,
) -> Result<String, UpdateError> {
    let fetch_error = |source| UpdateError::Fetch {
        url: url.to_owned(),
        source,
    };
    let response = http.get(url).send().await.map_err(fetch_error)?;
    if !response.status().is_success() {
        return Err(UpdateError::Status {
            url: url.to_owned(),
            status: response.status().as_u16(),
        });
    }
    let mut hasher = Sha256::new();
    let mut bytes = 0;
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(fetch_error)?;
        bytes += chunk.len() as u64;
        if bytes > MAX_BYTES {
            return Err(UpdateError::TooLarge { limit: MAX_BYTES });
        }
        hasher.update(&chunk);
        file.write_all(&chunk).map_err(failed("write", path))?;
    }
    Ok(hexadecimal(&hasher.finalize()))
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes any text");
        text
    })
}

/// A program that cannot even say its version will not run jobs.
pub(super) async fn check_health(path: &std::path::Path) -> Result<(), UpdateError> {
    let unhealthy = |reason: String| UpdateError::Unhealthy { reason };
    let output = timeout(SPEAK_WITHIN, version_of(path))
        .await
        .map_err(|_| unhealthy(format!("--version did not end within {SPEAK_WITHIN:?}")))?
        .map_err(|error| unhealthy(error.to_string()))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(unhealthy(format!("--version ended with {}", output.status)))
    }
}

/// A program that was just written may be busy for a moment: whoever forks has it open for writing until the exec.
async fn version_of(path: &std::path::Path) -> io::Result<Output> {
    loop {
        let output = tokio::process::Command::new(path)
            .arg("--version")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await;
        match output {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                tokio::time::sleep(TRY_AGAIN_AFTER).await;
            }
            output => return output,
        }
    }
}
