//! GitLab's notes and commit statuses, for merge request 3 of project 42.

use serde_json::{Value, json};

use super::{Asked, Rule, SHA, TOKEN};

pub const NOTES: &str = "/api/v4/projects/42/merge_requests/3/notes";
const STATES: [&str; 5] = ["pending", "running", "success", "failed", "canceled"];

/// What is there.
#[derive(Debug, Default)]
pub struct GitLabRule {
    pub notes: Vec<(u64, String)>,
    /// Of the commit.
    pub state: String,
}

impl Rule for GitLabRule {
    fn answer(&mut self, asked: &Asked) -> (u16, Value) {
        if asked.header("private-token") != TOKEN {
            return (401, json!({"message": "401 Unauthorized"}));
        }
        let path = asked.path.as_str();
        match asked.method.as_str() {
            "GET" if path == format!("{NOTES}?per_page=100&page=1") => {
                let notes = self.notes.iter();
                let notes = notes.map(|(id, body)| json!({"id": id, "body": body}));
                (200, notes.collect())
            }
            "POST" if path == NOTES => self.note(asked.text("body")),
            "PUT" if path.starts_with(&format!("{NOTES}/")) => {
                self.change(&path[NOTES.len() + 1..], asked.text("body"))
            }
            "POST" if path == format!("/api/v4/projects/42/statuses/{SHA}") => {
                self.set_state(asked.text("state"))
            }
            _ => not_found(),
        }
    }
}

impl GitLabRule {
    fn note(&mut self, body: &str) -> (u16, Value) {
        if body.is_empty() {
            return (400, json!({"error": "body is missing"}));
        }
        let id = 500 + self.notes.len() as u64;
        self.notes.push((id, body.to_owned()));
        (201, json!({"id": id}))
    }

    fn change(&mut self, id: &str, body: &str) -> (u16, Value) {
        let mut notes = self.notes.iter_mut();
        match notes.find(|(known, _)| known.to_string() == id) {
            Some((id, text)) if !body.is_empty() => {
                body.clone_into(text);
                (200, json!({"id": id}))
            }
            Some(_) => (400, json!({"error": "body is missing"})),
            None => not_found(),
        }
    }

    fn set_state(&mut self, state: &str) -> (u16, Value) {
        if !STATES.contains(&state) {
            return (400, json!({"error": "state does not have a valid value"}));
        }
        if state == self.state {
            let why = format!("Cannot transition status via :run from :{state}");
            return (400, json!({"message": why}));
        }
        state.clone_into(&mut self.state);
        (201, json!({"id": 1}))
    }
}

fn not_found() -> (u16, Value) {
    (404, json!({"message": "404 Not Found"}))
}
