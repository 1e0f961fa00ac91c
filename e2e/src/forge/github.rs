//! GitHub's comments and check runs, for pull request 7 of `them/tool`.

use serde_json::{Value, json};

use super::{Asked, Rule, SHA, TOKEN};

pub const REPOSITORY: &str = "them/tool";
pub const COMMENTS: &str = "/repos/them/tool/issues/7/comments";
pub const CHECKS: &str = "/repos/them/tool/check-runs";
const COMMENT: &str = "/repos/them/tool/issues/comments/";
/// The id of the check run that it makes.
const CHECK: u64 = 99;
/// The longest comment and the longest summary.
const MAX_TEXT: usize = 65_535;

/// What is there, and what the token may do.
#[derive(Debug, Default)]
pub struct GitHubRule {
    pub comments: Vec<(u64, String)>,
    pub checks_forbidden: bool,
    pub comments_forbidden: bool,
}

impl Rule for GitHubRule {
    fn answer(&mut self, asked: &Asked) -> (u16, Value) {
        let authorization = format!("Bearer {TOKEN}");
        let headers = [
            ("authorization", authorization.as_str()),
            ("accept", "application/vnd.github+json"),
            ("x-github-api-version", "2022-11-28"),
            ("user-agent", "kiln"),
        ];
        for (name, value) in headers {
            if asked.header(name) != value {
                return (401, json!({"message": format!("bad {name}")}));
            }
        }
        let path = asked.path.as_str();
        let list = format!("{COMMENTS}?per_page=100&page=");
        match asked.method.as_str() {
            "GET" if path.starts_with(&list) => self.page(&path[list.len()..]),
            "POST" | "PATCH" if self.comments_forbidden && path.contains("/comments") => {
                forbidden()
            }
            "POST" if path == COMMENTS => self.comment(asked.text("body")),
            "PATCH" if path.starts_with(COMMENT) => {
                self.change(&path[COMMENT.len()..], asked.text("body"))
            }
            "POST" if path == CHECKS && self.checks_forbidden => forbidden(),
            "POST" if path == CHECKS => begin_check(asked),
            "PATCH" if path == format!("{CHECKS}/{CHECK}") => end_check(asked),
            _ => not_found(),
        }
    }
}

impl GitHubRule {
    fn page(&self, page: &str) -> (u16, Value) {
        let page: usize = page.parse().unwrap_or(1);
        let all = self.comments.iter().skip((page - 1) * 100).take(100);
        let all = all.map(|(id, body)| json!({"id": id, "body": body}));
        (200, all.collect())
    }

    fn comment(&mut self, body: &str) -> (u16, Value) {
        if !is_text(body) {
            return invalid("body");
        }
        let id = 1_000 + self.comments.len() as u64;
        self.comments.push((id, body.to_owned()));
        (201, json!({"id": id}))
    }

    fn change(&mut self, id: &str, body: &str) -> (u16, Value) {
        if !is_text(body) {
            return invalid("body");
        }
        let mut comments = self.comments.iter_mut();
        match comments.find(|(known, _)| known.to_string() == id) {
            Some((id, text)) => {
                body.clone_into(text);
                (200, json!({"id": id}))
            }
            None => not_found(),
        }
    }
}

fn begin_check(asked: &Asked) -> (u16, Value) {
    if asked.text("name").is_empty() || asked.text("head_sha") != SHA {
        return invalid("name or head_sha");
    }
    if asked.text("status") != "in_progress" {
        return invalid("status");
    }
    (201, json!({"id": CHECK}))
}

fn end_check(asked: &Asked) -> (u16, Value) {
    let output = &asked.body["output"];
    let title = output["title"].as_str().unwrap_or_default();
    let summary = output["summary"].as_str().unwrap_or_default();
    if title.is_empty() || !is_text(summary) {
        return invalid("output");
    }
    let conclusion = asked.text("conclusion");
    if asked.text("status") != "completed" || !["success", "failure"].contains(&conclusion) {
        return invalid("conclusion");
    }
    (200, json!({"id": CHECK}))
}

fn is_text(text: &str) -> bool {
    (1..=MAX_TEXT).contains(&text.chars().count())
}

fn invalid(field: &str) -> (u16, Value) {
    let message = format!("Validation Failed: {field}");
    (422, json!({"message": message}))
}

fn forbidden() -> (u16, Value) {
    let message = "Resource not accessible by integration";
    (403, json!({"message": message}))
}

fn not_found() -> (u16, Value) {
    (404, json!({"message": "Not Found"}))
}
