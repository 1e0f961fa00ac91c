//! The programs that runners update themselves to.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::Response;
use tokio::fs::File;
use tokio_util::io::ReaderStream;

use crate::app::Shared;
use crate::error::{ApiError, ApiResult};

/// A program of the release directory. Anybody may have it: it is the one that runs on every runner.
pub(super) async fn get_release(
    State(app): State<Shared>,
    Path((release, name)): Path<(String, String)>,
) -> ApiResult<Response> {
    let absent = || ApiError::not_found("release");
    let directory = app.offers.as_ref().and_then(|offers| offers.directory());
    let directory = directory.ok_or_else(absent)?;
    if !is_plain(&release) || !is_plain(&name) || !name.starts_with("runner-") {
        return Err(absent());
    }
    let path = directory.join(release).join(name);
    let file = File::open(path).await.map_err(|_| absent())?;
    let metadata = file.metadata().await.map_err(|_| absent())?;
    if !metadata.is_file() {
        return Err(absent());
    }
    Response::builder()
        .header(CONTENT_TYPE, "application/octet-stream")
        .header(CONTENT_LENGTH, metadata.len())
        .body(Body::from_stream(ReaderStream::new(file)))
        .map_err(|_| absent())
}

/// One name of a file, and no path.
fn is_plain(name: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
    !name.starts_with('.') && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn a_name_leads_nowhere_else() {
        assert!(is_plain("runner-v1.2.3-linux-x86-64"));
        for name in ["..", ".", "../secret", "a/b", "a\\b", "a\0b", ".hidden"] {
            assert!(!is_plain(name), "{name:?}");
        }
    }
}
