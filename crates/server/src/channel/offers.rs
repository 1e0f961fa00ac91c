//! Newer programs for runners: which there are, and where they are fetched from.
//!
//! A release lies at `v<version>/runner-v<version>-linux-<architecture>`, the canary at
//! `canary/runner-canary-linux-<architecture>`, each with the SHA-256 of the program beside it in a file of the same name
//! and `.sha256`, in a directory that this server serves or behind a URL.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kiln_model::v0::{RunnerMetadata, ServerMessage};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::app::App;
use crate::metrics::{Channel, Count, Metrics};

/// As stock servers call the paths below [`DOWNLOADS`].
const CANARY: &str = "canary";
/// Where a directory's programs are served.
pub(crate) const DOWNLOADS: &str = "/v0/server/releases";
/// How long a checksum is believed, and the lack of one too.
const FRESH: Duration = Duration::from_mins(2);
/// A checksum file has one line.
const MAX_CHECKSUM_BYTES: usize = 1_024;

/// Where releases are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Releases {
    Directory(PathBuf),
    Url(String),
}

/// The releases of a server, with what was found out about them lately.
#[derive(Debug)]
pub(crate) struct Offers {
    releases: Releases,
    known: Mutex<BTreeMap<String, (Instant, Option<String>)>>,
}

impl Offers {
    pub(crate) fn new(releases: Releases) -> Self {
        Self {
            releases,
            known: Mutex::default(),
        }
    }

    /// The directory whose programs this server serves itself.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match &self.releases {
            Releases::Directory(directory) => Some(directory),
            Releases::Url(_) => None,
        }
    }

    /// The SHA-256 of a program, if there is one. Trouble in finding out is no offer.
    async fn checksum(&self, path: &str, metrics: &Metrics) -> Option<String> {
        let mut known = self.known.lock().await;
        if let Some((since, checksum)) = known.get(path)
            && since.elapsed() < FRESH
        {
            return checksum.clone();
        }
        let checksum = self.read_checksum(path).await.unwrap_or_else(|error| {
            tracing::warn!(path, error, "whether runners can be updated is not known");
            metrics.count(Count::UpdateCheckFailed);
            None
        });
        known.insert(path.to_owned(), (Instant::now(), checksum.clone()));
        checksum
    }

    /// None when there is no such program.
    async fn read_checksum(&self, path: &str) -> Result<Option<String>, String> {
        match &self.releases {
            Releases::Directory(directory) => {
                let file = directory.join(format!("{path}.sha256"));
                match tokio::fs::read(file).await {
                    Ok(text) => Ok(first_word(&text)),
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(error.to_string()),
                }
            }
            Releases::Url(base) => {
                let url = format!("{}/{path}.sha256", base.trim_end_matches('/'));
                fetch(&url).await.map_err(|error| error.to_string())
            }
        }
    }

    fn url(&self, public_url: &str, path: &str) -> String {
        match &self.releases {
            Releases::Directory(_) => format!("{public_url}{DOWNLOADS}/{path}"),
            Releases::Url(base) => format!("{}/{path}", base.trim_end_matches('/')),
        }
    }
}

/// What a runner that introduces itself is offered: this server's own version if it has another, or the canary if it
/// follows that and has another program.
pub(super) async fn offer(app: &App, runner: &RunnerMetadata) -> Option<ServerMessage> {
    let offers = app.offers.as_ref()?;
    let ours = env!("CARGO_PKG_VERSION");
    let canary = runner.channel.as_deref() == Some(CANARY);
    if !canary && runner.version == ours {
        return None;
    }
    let version = if canary { CANARY } else { ours };
    let path = path(runner, version)?;
    let checksum = offers.checksum(&path, &app.metrics).await?;
    let theirs = runner.checksum.as_deref();
    if canary && theirs.is_some_and(|theirs| theirs.eq_ignore_ascii_case(&checksum)) {
        return None;
    }
    let channel = if canary {
        Channel::Canary
    } else {
        Channel::Stable
    };
    app.metrics.count(Count::UpdateSent(channel));
    Some(ServerMessage::Update {
        version: version.to_owned(),
        url: offers.url(&app.public_url, &path),
        checksum,
    })
}

/// The program for a runner's machine; only Linux has one.
fn path(runner: &RunnerMetadata, version: &str) -> Option<String> {
    let architecture = match runner.arch.as_str() {
        "x86_64" | "x86-64" | "amd64" => "x86-64",
        "aarch64" | "arm-64" | "arm64" => "arm-64",
        _ => return None,
    };
    if runner.os != "linux" {
        return None;
    }
    let name = match version {
        CANARY => CANARY.to_owned(),
        version => format!("v{version}"),
    };
    Some(format!("{name}/runner-{name}-linux-{architecture}"))
}

async fn fetch(url: &str) -> reqwest::Result<Option<String>> {
    let http = reqwest::Client::builder().build()?;
    let answer = http.get(url).send().await?;
    if answer.status() == reqwest::StatusCode::NOT_FOUND {
        return Ok(None);
    }
    let text = answer.error_for_status()?.bytes().await?;
    Ok(first_word(&text))
}

fn first_word(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text.get(..MAX_CHECKSUM_BYTES).unwrap_or(text)).ok()?;
    let word = text.split_whitespace().next()?;
    let is_checksum = word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_checksum.then(|| word.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(os: &str, arch: &str) -> RunnerMetadata {
        RunnerMetadata {
            os: os.to_owned(),
            arch: arch.to_owned(),
            version: "0.0.1".to_owned(),
            channel: None,
            checksum: None,
            host: None,
            slots: None,
        }
    }

    #[test]
    fn releases_are_named_as_on_stock_servers() {
        assert_eq!(
            path(&runner("linux", "x86_64"), "1.2.3").unwrap(),
            "v1.2.3/runner-v1.2.3-linux-x86-64"
        );
        assert_eq!(
            path(&runner("linux", "aarch64"), CANARY).unwrap(),
            "canary/runner-canary-linux-arm-64"
        );
    }

    #[test]
    fn other_machines_have_no_program() {
        assert_eq!(path(&runner("macos", "aarch64"), "1.2.3"), None);
        assert_eq!(path(&runner("linux", "riscv64"), "1.2.3"), None);
    }

    #[test]
    fn a_checksum_is_the_first_word_or_nothing() {
        let sum = "AB".repeat(32);
        let line = format!("{sum}  runner-v1.2.3-linux-x86-64\n");
        assert_eq!(first_word(line.as_bytes()), Some(sum.to_lowercase()));
        assert_eq!(first_word(b"<html>not found</html>"), None);
        assert_eq!(first_word(b""), None);
    }
}
