//! GitHub: a comment on the pull request, a check run on the commit, a summary of the job.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};

use super::api::{Api, ApiError};
use super::{Begun, Comment, Verdict};
use crate::commands::run::Variables;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The longest comment, and the longest summary of a check.
pub(super) const MAX_TEXT: usize = 65_535;
const PER_PAGE: usize = 100;
/// A pull request with more comments than these pages gets another comment.
const MAX_PAGES: usize = 50;

#[derive(Debug)]
pub(super) struct GitHub {
    api: Api,
    /// OWNER/NAME.
    repository: String,
    /// The pull request.
    number: Option<u64>,
    commit: Option<String>,
    /// Where the job's summary is written.
    summary: Option<PathBuf>,
}

impl GitHub {
    pub(super) fn of(
        token: &str,
        variables: &Variables,
        number: Option<u64>,
    ) -> Result<Self, Failure> {
        let base = variables.get("GITHUB_API_URL");
        let base = base.as_deref().unwrap_or("https://api.github.com");
        let authorization = format!("Bearer {token}");
        let headers = [
            ("authorization", authorization.as_str()),
            ("accept", "application/vnd.github+json"),
            ("x-github-api-version", "2022-11-28"),
        ];
        let hint = "give the job `permissions: { pull-requests: write, checks: write }`; on pull requests from forks the token may only read";
        let repository = variables.get("GITHUB_REPOSITORY").ok_or_else(|| {
            Failure::usage("GITHUB_REPOSITORY is not set")
                .hint("--github-actions is for jobs of GitHub Actions")
        })?;
        let event = event(variables);
        let pull = &event["pull_request"];
        Ok(Self {
            api: Api::new("GitHub", base, &headers, hint)?,
            repository,
            number: number
                .or_else(|| pull["number"].as_u64())
                .or_else(|| number_of(&variables.get("GITHUB_REF")?)),
            // The commit that is checked out is a merge that nobody looks at.
            commit: pull["head"]["sha"]
                .as_str()
                .map(str::to_owned)
                .or_else(|| variables.get("GITHUB_SHA")),
            summary: variables.get("GITHUB_STEP_SUMMARY").map(PathBuf::from),
        })
    }

    pub(super) async fn begin(&self, terminal: &Terminal, name: &str) -> Result<Begun, Failure> {
        let Some(commit) = &self.commit else {
            return Ok(Begun::default());
        };
        let path = format!("/repos/{}/check-runs", self.repository);
        let body = json!({"name": name, "head_sha": commit, "status": "in_progress"});
        match self.api.send(Method::POST, &path, &body).await {
            Ok(made) => {
                let id = made["id"].as_u64();
                let id = id.ok_or_else(|| self.api.unexpected("POST check-runs"))?;
                Ok(Begun { check: Some(id) })
            }
            // Only apps may keep checks, and the token of a job is one; a person's token is not.
            Err(error) if error.is_forbidden() => {
                terminal.warn(&format!("there will be no check: {error}"));
                Ok(Begun::default())
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn finish(
        &self,
        terminal: &Terminal,
        name: &str,
        begun: Begun,
        verdict: &Verdict,
    ) -> Result<(), Failure> {
        let Some(check) = begun.check else {
            return Ok(());
        };
        let path = format!("/repos/{}/check-runs/{check}", self.repository);
        let mut body = json!({
            "name": name,
            "status": "completed",
            "conclusion": if verdict.passed { "success" } else { "failure" },
            "output": {"title": verdict.title, "summary": verdict.summary},
        });
        if let Some(link) = &verdict.link {
            body["details_url"] = json!(link);
        }
        match self.api.send(Method::PATCH, &path, &body).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_forbidden() => {
                terminal.warn(&format!("the check stays in progress: {error}"));
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Adds to the summary of the job, which other steps write too.
    pub(super) fn summarize(&self, verdict: &Verdict) -> Result<(), Failure> {
        let Some(path) = &self.summary else {
            return Ok(());
        };
        let mut options = fs::OpenOptions::new();
        let file = options.append(true).create(true).open(path);
        let written = file.and_then(|mut file| writeln!(file, "{}", verdict.summary));
        written.map_err(|error| {
            Failure::unexpected("the summary of the job cannot be written").because(&error)
        })
    }

    /// Makes the comment, or brings the one that is there up to date.
    pub(super) async fn comment(&self, comment: &Comment) -> Result<(), Failure> {
        let Some(number) = self.number else {
            return Ok(());
        };
        let body = json!({"body": comment.body});
        let repository = &self.repository;
        if let Some(id) = self.find(number, &comment.marker).await? {
            let path = format!("/repos/{repository}/issues/comments/{id}");
            self.api.send(Method::PATCH, &path, &body).await?;
        } else if comment.begin {
            let path = format!("/repos/{repository}/issues/{number}/comments");
            self.api.send(Method::POST, &path, &body).await?;
        }
        Ok(())
    }

    async fn find(&self, number: u64, marker: &str) -> Result<Option<u64>, ApiError> {
        for page in 1..=MAX_PAGES {
            let path = format!(
                "/repos/{}/issues/{number}/comments?per_page={PER_PAGE}&page={page}",
                self.repository
            );
            let comments = self.api.get(&path).await?;
            let Some(comments) = comments.as_array() else {
                return Err(self.api.unexpected("GET comments"));
            };
            let is_ours = |comment: &&Value| {
                let body = comment["body"].as_str();
                body.is_some_and(|body| body.starts_with(marker))
            };
            if let Some(ours) = comments.iter().find(is_ours) {
                return Ok(ours["id"].as_u64());
            }
            if comments.len() < PER_PAGE {
                break;
            }
        }
        Ok(None)
    }
}

/// What set the workflow off; nothing where that cannot be read.
fn event(variables: &Variables) -> Value {
    let text = variables
        .get("GITHUB_EVENT_PATH")
        .and_then(|path| fs::read(path).ok());
    text.and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

/// `refs/pull/7/merge` is of pull request 7.
fn number_of(reference: &str) -> Option<u64> {
    let rest = reference.strip_prefix("refs/pull/")?;
    rest.split('/').next()?.parse().ok()
}
