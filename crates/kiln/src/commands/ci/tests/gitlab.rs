use serde_json::{Value, json};

use super::fake::{Asked, Fake, Rule};
use super::*;

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";
const NOTES: &str = "/api/v4/projects/42/merge_requests/3/notes";

#[derive(Default)]
struct GitLabRule {
    notes: Vec<(u64, String)>,
    state: String,
}

impl Rule for GitLabRule {
    fn answer(&mut self, asked: &Asked) -> (u16, Value) {
        if asked.header("private-token") != "t0ken" {
            return (401, json!({"message": "401 Unauthorized"}));
        }
        let path = asked.path.as_str();
        match asked.method.as_str() {
            "GET" if path == format!("{NOTES}?per_page=100&page=1") => {
                let notes = self.notes.iter();
                let notes = notes.map(|(id, body)| json!({"id": id, "body": body}));
                (200, notes.collect())
            }
            "POST" if path == NOTES => {
                let id = 500 + self.notes.len() as u64;
                let body = asked.body["body"].as_str().unwrap().to_owned();
                self.notes.push((id, body));
                (201, json!({"id": id}))
            }
            "PUT" if path.starts_with(&format!("{NOTES}/")) => {
                let id: u64 = path.rsplit('/').next().unwrap().parse().unwrap();
                let found = self.notes.iter_mut().find(|(known, _)| *known == id);
                asked.body["body"]
                    .as_str()
                    .unwrap()
                    .clone_into(&mut found.unwrap().1);
                (200, json!({"id": id}))
            }
            "POST" if path == format!("/api/v4/projects/42/statuses/{SHA}") => {
                let state = asked.body["state"].as_str().unwrap().to_owned();
                if state == self.state {
                    let why = format!("Cannot transition status via :run from :{state}");
                    return (400, json!({"message": why}));
                }
                self.state = state;
                (201, json!({"id": 1}))
            }
            _ => (404, json!({"message": "404 Not Found"})),
        }
    }
}

fn ci(fake: &Fake<GitLabRule>, token: &str) -> Ci {
    let base = format!("{}/api/v4", fake.url);
    let variables = Variables::of(&[
        ("CI_API_V4_URL", base.as_str()),
        ("CI_PROJECT_ID", "42"),
        ("CI_MERGE_REQUEST_IID", "3"),
        ("CI_COMMIT_SHA", SHA),
    ]);
    Ci {
        forge: Forge::GitLab(GitLab::of(token, &variables, None).unwrap()),
        policy: Policy::default(),
    }
}

#[tokio::test]
async fn a_note_is_made_once_and_then_kept_up_to_date() {
    let fake = Fake::start(GitLabRule::default()).await;
    let ci = ci(&fake, "t0ken");
    tell(&ci, &sample()).await.unwrap();
    assert_eq!(fake.with(|rule| rule.state.clone()), "failed");
    tell(&ci, &without_alert()).await.unwrap();
    assert_eq!(fake.with(|rule| rule.state.clone()), "success");
    let notes = fake.with(|rule| rule.notes.clone());
    assert_eq!(notes.len(), 1);
    assert!(notes[0].1.contains("No alerts"), "{}", notes[0].1);
    assert_eq!(
        fake.last("POST /api/v4/projects/42/statuses/").body,
        json!({
            "state": "success", "name": "Kiln", "description": "No alerts",
            "target_url": "https://kiln.example/v0/projects/demo/reports/01a1de46-fdae-7a03-a2b6-000000000005"
        })
    );
}

#[tokio::test]
async fn a_commit_that_has_the_status_already_is_no_trouble() {
    let fake = Fake::start(GitLabRule {
        state: "running".to_owned(),
        ..GitLabRule::default()
    })
    .await;
    tell(&ci(&fake, "t0ken"), &sample()).await.unwrap();
    assert_eq!(fake.with(|rule| rule.state.clone()), "failed");
}

#[tokio::test]
async fn a_wrong_token_says_what_is_needed() {
    let fake = Fake::start(GitLabRule::default()).await;
    let failure = tell(&ci(&fake, "wrong"), &sample()).await.unwrap_err();
    assert_eq!(failure.exit, crate::failure::Exit::Unauthorized);
    assert!(failure.hint.unwrap().contains("scope `api`"));
}
