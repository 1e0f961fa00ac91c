use kiln_e2e::forge::github::{CHECKS, COMMENTS, REPOSITORY};
use kiln_e2e::forge::{Fake, GitHubRule, SHA, TOKEN};
use serde_json::json;

use super::*;

fn ci(fake: &Fake<GitHubRule>, policy: Policy, more: &[(&str, &str)]) -> Ci {
    let mut variables = vec![
        ("GITHUB_API_URL", fake.url.as_str()),
        ("GITHUB_REPOSITORY", REPOSITORY),
        ("GITHUB_REF", "refs/pull/7/merge"),
        ("GITHUB_SHA", SHA),
    ];
    variables.extend(more);
    let forge = GitHub::of(TOKEN, &Variables::of(&variables), None).unwrap();
    Ci {
        forge: Forge::GitHub(forge),
        policy,
    }
}

#[tokio::test]
async fn a_comment_is_made_once_and_then_kept_up_to_date() {
    let fake = Fake::start(GitHubRule::default()).await;
    fake.with(|rule| rule.comments.push((1, "LGTM".to_owned())));
    let ci = ci(&fake, Policy::default(), &[]);
    tell(&ci, &sample()).await.unwrap();
    tell(&ci, &without_alert()).await.unwrap();
    let comments = fake.with(|rule| rule.comments.clone());
    assert_eq!(comments.len(), 2);
    assert_eq!(comments[0].1, "LGTM");
    assert!(comments[1].1.starts_with("<!-- kiln:"), "{}", comments[1].1);
    assert!(comments[1].1.contains("No alerts"), "{}", comments[1].1);
    assert_eq!(
        fake.calls(),
        [
            format!("POST {CHECKS}"),
            format!("PATCH {CHECKS}/99"),
            format!("GET {COMMENTS}?per_page=100&page=1"),
            format!("POST {COMMENTS}"),
            format!("POST {CHECKS}"),
            format!("PATCH {CHECKS}/99"),
            format!("GET {COMMENTS}?per_page=100&page=1"),
            "PATCH /repos/them/tool/issues/comments/1001".to_owned(),
        ]
    );
}

#[tokio::test]
async fn a_comment_is_found_behind_a_hundred_others() {
    let fake = Fake::start(GitHubRule::default()).await;
    fake.with(|rule| {
        rule.comments
            .extend((1..=100).map(|id| (id, "hm".to_owned())));
    });
    let ci = ci(&fake, Policy::default(), &[]);
    tell(&ci, &sample()).await.unwrap();
    tell(&ci, &sample()).await.unwrap();
    assert_eq!(fake.with(|rule| rule.comments.len()), 101);
}

#[tokio::test]
async fn comments_with_other_ids_stay_apart() {
    let fake = Fake::start(GitHubRule::default()).await;
    for id in [None, Some("arm".to_owned()), Some("x86".to_owned())] {
        let policy = Policy {
            id,
            ..Policy::default()
        };
        tell(&ci(&fake, policy, &[]), &sample()).await.unwrap();
    }
    assert_eq!(fake.with(|rule| rule.comments.len()), 3);
    let named = fake.last(&format!("POST {CHECKS}")).body["name"].clone();
    assert_eq!(named, "Kiln: x86");
}

#[tokio::test]
async fn without_an_alert_no_comment_is_begun_but_one_that_is_there_is_mended() {
    let fake = Fake::start(GitHubRule::default()).await;
    let policy = Policy {
        only_on_alert: true,
        ..Policy::default()
    };
    let ci = ci(&fake, policy, &[]);
    tell(&ci, &without_alert()).await.unwrap();
    assert_eq!(fake.with(|rule| rule.comments.len()), 0);
    tell(&ci, &sample()).await.unwrap();
    tell(&ci, &without_alert()).await.unwrap();
    let comments = fake.with(|rule| rule.comments.clone());
    assert_eq!(comments.len(), 1);
    assert!(comments[0].1.contains("No alerts"), "{}", comments[0].1);
}

#[tokio::test]
async fn what_no_threshold_judged_is_not_told_when_only_thresholds_count() {
    let fake = Fake::start(GitHubRule::default()).await;
    let policy = Policy {
        only_thresholds: true,
        ..Policy::default()
    };
    let ci = ci(&fake, policy, &[]);
    let mut report = without_alert();
    for result in report.results.as_mut().unwrap().iter_mut().flatten() {
        for measure in &mut result.measures {
            measure.threshold = None;
        }
    }
    tell(&ci, &report).await.unwrap();
    assert_eq!(fake.with(|rule| rule.comments.len()), 0);
}

#[tokio::test]
async fn the_check_ends_as_the_run_does() {
    let fake = Fake::start(GitHubRule::default()).await;
    let ci = ci(&fake, Policy::default(), &[]);
    let conclusion = || {
        let asked = fake.last(&format!("PATCH {CHECKS}"));
        asked.body["conclusion"].as_str().unwrap().to_owned()
    };
    tell(&ci, &without_alert()).await.unwrap();
    assert_eq!(conclusion(), "success");
    tell(&ci, &sample()).await.unwrap();
    assert_eq!(conclusion(), "failure");
    let begun = ci.begin(&quiet()).await.unwrap();
    let failure = Failure::unexpected("the command failed");
    ci.finish(&quiet(), begun, Err(&failure)).await.unwrap();
    assert_eq!(conclusion(), "failure");
    assert_eq!(fake.with(|rule| rule.comments.len()), 1);
}

#[tokio::test]
async fn a_token_that_may_not_check_may_still_comment() {
    let fake = Fake::start(GitHubRule {
        checks_forbidden: true,
        ..GitHubRule::default()
    })
    .await;
    tell(&ci(&fake, Policy::default(), &[]), &sample())
        .await
        .unwrap();
    assert_eq!(fake.with(|rule| rule.comments.len()), 1);
}

#[tokio::test]
async fn a_token_that_may_not_comment_says_what_it_needs() {
    let fake = Fake::start(GitHubRule {
        comments_forbidden: true,
        ..GitHubRule::default()
    })
    .await;
    let ci = ci(&fake, Policy::default(), &[]);
    let failure = tell(&ci, &sample()).await.unwrap_err();
    assert_eq!(failure.exit, crate::failure::Exit::Unauthorized);
    assert!(
        failure.message.contains("Resource not accessible"),
        "{failure}"
    );
    assert!(failure.hint.unwrap().contains("pull-requests: write"));
}

#[tokio::test]
async fn the_event_names_the_pull_request_and_its_commit() {
    let directory = tempfile::tempdir().unwrap();
    let event = directory.path().join("event.json");
    let body = json!({"pull_request": {"number": 7, "head": {"sha": SHA}}});
    std::fs::write(&event, body.to_string()).unwrap();
    let summary = directory.path().join("summary.md");
    std::fs::write(&summary, "before\n").unwrap();
    let fake = Fake::start(GitHubRule::default()).await;
    let more = [
        ("GITHUB_REF", "refs/heads/main"),
        ("GITHUB_SHA", "ffffffffffffffffffffffffffffffffffffffff"),
        ("GITHUB_EVENT_PATH", event.to_str().unwrap()),
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
    ];
    tell(&ci(&fake, Policy::default(), &more), &sample())
        .await
        .unwrap();
    assert_eq!(fake.with(|rule| rule.comments.len()), 1);
    let summary = std::fs::read_to_string(summary).unwrap();
    assert!(summary.starts_with("before\n### Kiln"), "{summary}");
}

#[tokio::test]
async fn outside_a_pull_request_only_the_commit_is_told() {
    let fake = Fake::start(GitHubRule::default()).await;
    let more = [("GITHUB_REF", "refs/heads/main")];
    tell(&ci(&fake, Policy::default(), &more), &sample())
        .await
        .unwrap();
    assert_eq!(
        fake.calls(),
        [format!("POST {CHECKS}"), format!("PATCH {CHECKS}/99")]
    );
}
