//! GitLab: a note on the merge request, a status on the commit.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::api::{Api, ApiError};
use super::{Begun, Comment, Verdict};
use crate::commands::run::Variables;
use crate::failure::Failure;

/// The longest note.
pub(super) const MAX_TEXT: usize = 1_000_000;
const MAX_DESCRIPTION: usize = 255;
const PER_PAGE: usize = 100;
/// A merge request with more notes than these pages gets another note.
const MAX_PAGES: usize = 50;

#[derive(Debug)]
pub(super) struct GitLab {
    api: Api,
    /// The project's number.
    project: String,
    /// The merge request.
    number: Option<u64>,
    commit: Option<String>,
}

impl GitLab {
    pub(super) fn of(
        token: &str,
        variables: &Variables,
        number: Option<u64>,
    ) -> Result<Self, Failure> {
        let base = variables.get("CI_API_V4_URL");
        let base = base.as_deref().unwrap_or("https://gitlab.com/api/v4");
        let headers = [("private-token", token)];
        let hint = "the token needs the scope `api` and the role Developer; a job's own token may not comment";
        let project = variables.get("CI_PROJECT_ID").ok_or_else(|| {
            Failure::usage("CI_PROJECT_ID is not set").hint("--gitlab is for jobs of GitLab CI")
        })?;
        let given = || variables.get("CI_MERGE_REQUEST_IID")?.parse().ok();
        Ok(Self {
            api: Api::new("GitLab", base, &headers, hint)?,
            project,
            number: number.or_else(given),
            commit: variables
                .get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")
                .or_else(|| variables.get("CI_COMMIT_SHA")),
        })
    }

    pub(super) async fn begin(&self, name: &str) -> Result<Begun, Failure> {
        let body = json!({"state": "running", "name": name});
        self.set_status(body).await?;
        Ok(Begun::default())
    }

    pub(super) async fn finish(&self, name: &str, verdict: &Verdict) -> Result<(), Failure> {
        let description: String = verdict.title.chars().take(MAX_DESCRIPTION).collect();
        let mut body = json!({
            "state": if verdict.passed { "success" } else { "failed" },
            "name": name,
            "description": description,
        });
        if let Some(link) = &verdict.link {
            body["target_url"] = json!(link);
        }
        self.set_status(body).await
    }

    /// Makes the note, or brings the one that is there up to date.
    pub(super) async fn comment(&self, comment: &Comment) -> Result<(), Failure> {
        let Some(number) = self.number else {
            return Ok(());
        };
        let body = json!({"body": comment.body});
        let notes = format!("/projects/{}/merge_requests/{number}/notes", self.project);
        if let Some(id) = self.find(&notes, &comment.marker).await? {
            let path = format!("{notes}/{id}");
            self.api.send(Method::PUT, &path, &body).await?;
        } else if comment.begin {
            self.api.send(Method::POST, &notes, &body).await?;
        }
        Ok(())
    }

    async fn set_status(&self, body: Value) -> Result<(), Failure> {
        let Some(commit) = &self.commit else {
            return Ok(());
        };
        let path = format!("/projects/{}/statuses/{commit}", self.project);
        match self.api.send(Method::POST, &path, &body).await {
            Ok(_) => Ok(()),
            // It has that status already: a job that runs again says the same.
            Err(error) if is_same_status(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn find(&self, notes: &str, marker: &str) -> Result<Option<u64>, ApiError> {
        for page in 1..=MAX_PAGES {
            let path = format!("{notes}?per_page={PER_PAGE}&page={page}");
            let found = self.api.get(&path).await?;
            let Some(found) = found.as_array() else {
                return Err(self.api.unexpected("GET notes"));
            };
            let is_ours = |note: &&Value| {
                let body = note["body"].as_str();
                body.is_some_and(|body| body.starts_with(marker))
            };
            if let Some(ours) = found.iter().find(is_ours) {
                return Ok(ours["id"].as_u64());
            }
            if found.len() < PER_PAGE {
                break;
            }
        }
        Ok(None)
    }
}

fn is_same_status(error: &ApiError) -> bool {
    error.status() == Some(StatusCode::BAD_REQUEST)
        && error.to_string().contains("Cannot transition status")
}
