use kiln_e2e::forge::{Fake, GitLabRule, SHA, TOKEN};
use serde_json::json;

use super::*;

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
    let ci = ci(&fake, TOKEN);
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
    tell(&ci(&fake, TOKEN), &sample()).await.unwrap();
    assert_eq!(fake.with(|rule| rule.state.clone()), "failed");
}

#[tokio::test]
async fn a_wrong_token_says_what_is_needed() {
    let fake = Fake::start(GitLabRule::default()).await;
    let failure = tell(&ci(&fake, "wrong"), &sample()).await.unwrap_err();
    assert_eq!(failure.exit, crate::failure::Exit::Unauthorized);
    assert!(failure.hint.unwrap().contains("scope `api`"));
}
