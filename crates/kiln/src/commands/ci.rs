//! A word on the pull request: a comment that is found again and kept up to date, and a check or status on the commit.

mod api;
mod github;
mod gitlab;

use kiln_model::v0::Report;

use super::run::Variables;
use crate::cli::run::PullRequest;
use crate::failure::Failure;
use crate::report::{Links, Show, View, markdown};
use crate::terminal::Terminal;
use github::GitHub;
use gitlab::GitLab;

/// The forge that a run is told to, and what it is to be told.
#[derive(Debug)]
pub(super) struct Ci {
    forge: Forge,
    policy: Policy,
}

#[derive(Debug)]
enum Forge {
    GitHub(GitHub),
    GitLab(GitLab),
}

#[derive(Clone, Debug, Default)]
struct Policy {
    only_thresholds: bool,
    only_on_alert: bool,
    public_links: bool,
    id: Option<String>,
}

/// A check that stands on the commit and waits for its outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Begun {
    check: Option<u64>,
}

/// What a forge is told at the end.
#[derive(Clone, Debug)]
struct Verdict {
    passed: bool,
    title: String,
    /// Markdown.
    summary: String,
    link: Option<String>,
}

/// Whether a comment is due.
#[derive(Clone, Debug)]
struct Comment {
    /// Stands at the beginning of the comment and is not seen.
    marker: String,
    body: String,
    /// Whether to make one that is not there yet.
    begin: bool,
}

impl Ci {
    /// The forge that the flags name, as its variables describe it.
    pub(super) fn of(flags: &PullRequest, variables: &Variables) -> Result<Option<Self>, Failure> {
        let number = flags.ci_number;
        let forge = if let Some(token) = &flags.github_actions {
            Forge::GitHub(GitHub::of(token, variables, number)?)
        } else if let Some(token) = &flags.gitlab {
            Forge::GitLab(GitLab::of(token, variables, number)?)
        } else {
            return Ok(None);
        };
        let policy = Policy {
            only_thresholds: flags.ci_only_thresholds,
            only_on_alert: flags.ci_only_on_alert,
            public_links: flags.ci_public_links,
            id: flags.ci_id.clone(),
        };
        Ok(Some(Self { forge, policy }))
    }

    /// Says on the commit that a run has begun.
    pub(super) async fn begin(&self, terminal: &Terminal) -> Result<Begun, Failure> {
        let check = self.policy.check_name();
        match &self.forge {
            Forge::GitHub(forge) => forge.begin(terminal, &check).await,
            Forge::GitLab(forge) => forge.begin(&check).await,
        }
    }

    /// Says what came of it, on the commit and on the pull request.
    pub(super) async fn finish(
        &self,
        terminal: &Terminal,
        begun: Begun,
        outcome: Result<(&Report, &str), &Failure>,
    ) -> Result<(), Failure> {
        let check = self.policy.check_name();
        let limit = match &self.forge {
            Forge::GitHub(_) => github::MAX_TEXT,
            Forge::GitLab(_) => gitlab::MAX_TEXT,
        };
        let (verdict, comment) = match outcome {
            Ok((report, server)) => self.policy.tell(report, server, limit),
            Err(failure) => (Verdict::failed(failure), None),
        };
        match &self.forge {
            Forge::GitHub(forge) => {
                forge.finish(terminal, &check, begun, &verdict).await?;
                forge.summarize(&verdict)?;
                if let Some(comment) = &comment {
                    forge.comment(comment).await?;
                }
            }
            Forge::GitLab(forge) => {
                forge.finish(&check, &verdict).await?;
                if let Some(comment) = &comment {
                    forge.comment(comment).await?;
                }
            }
        }
        Ok(())
    }
}

impl Policy {
    fn check_name(&self) -> String {
        match &self.id {
            Some(id) => format!("Kiln: {id}"),
            None => "Kiln".to_owned(),
        }
    }

    fn tell(&self, report: &Report, server: &str, limit: usize) -> (Verdict, Option<Comment>) {
        let links = Links::new(server, self.public_links);
        let show = if self.only_thresholds {
            Show::Judged
        } else {
            Show::Everything
        };
        let view = View::new(report, &links, show);
        let marker = format!("<!-- kiln:{} -->", self.comment_id(report));
        let page = markdown(&view, limit - marker.len() - 1);
        let alerts = report.counts.alerts.active > 0 || view.is_slower();
        let unreadable = report.status.as_deref() == Some("invalid");
        let verdict = Verdict {
            passed: !alerts && !unreadable,
            title: view.outcome().to_owned(),
            summary: page.clone(),
            link: Some(links.report(report)),
        };
        let comment = Comment {
            body: format!("{marker}\n{page}"),
            marker,
            begin: (alerts || unreadable || !self.only_on_alert)
                && !(self.only_thresholds && view.is_empty()),
        };
        (verdict, Some(comment))
    }

    /// Letters and digits: it stands in a comment of markup, which must not end early.
    fn comment_id(&self, report: &Report) -> String {
        let (project, testbed) = (report.project.uuid, report.testbed.uuid);
        let id = match &self.id {
            Some(id) => format!("{project} {id}"),
            None => format!("{project} {testbed} {}", report.adapter),
        };
        let words = id.split(|c: char| !c.is_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.join("-")
    }
}

impl Verdict {
    fn failed(failure: &Failure) -> Self {
        let title = failure.message.chars().take(200).collect();
        Self {
            passed: false,
            title,
            summary: "The run did not come to an end; its log says why.".to_owned(),
            link: None,
        }
    }
}

#[cfg(test)]
mod tests;
