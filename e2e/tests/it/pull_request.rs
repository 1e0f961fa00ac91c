//! `kiln run` in CI: the program, a server, and a forge that is strict.

use std::fs;

use kiln_e2e::forge::github::{CHECKS, COMMENTS, REPOSITORY};
use kiln_e2e::forge::gitlab::NOTES;
use kiln_e2e::forge::{Fake, GitHubRule, GitLabRule, SHA, TOKEN};
use kiln_e2e::{Exited, Town, kiln_with};

/// Reports a latency to project `test`, from a job of CI with these variables.
fn run(town: &Town, latency: u32, more: &[&str], variables: &[(&str, &str)]) -> Exited {
    let data = town.data();
    let results = format!("echo '{{\"sort\":{{\"latency\":{{\"value\":{latency}}}}}}}'");
    let mut arguments = vec![
        "run",
        "--project",
        "test",
        "--branch",
        "main",
        "--testbed",
        "here",
        "--data",
        data.to_str().unwrap(),
        "--threshold-measure",
        "latency",
        "--threshold-test",
        "percentage",
        "--threshold-upper-boundary",
        "0.1",
    ];
    arguments.extend(more);
    arguments.push(&results);
    let mut all = vec![("CI", "true")];
    all.extend(variables);
    kiln_with(&arguments, "", &all)
}

#[track_caller]
fn ended(exited: &Exited, code: i32) {
    assert_eq!(exited.code, Some(code), "{}", exited.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn github_is_told_how_a_run_ended_and_told_again() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    let fake = Fake::start(GitHubRule::default()).await;
    let summary = town.path().join("summary.md");
    let variables = [
        ("GITHUB_API_URL", fake.url.as_str()),
        ("GITHUB_REPOSITORY", REPOSITORY),
        ("GITHUB_REF", "refs/pull/7/merge"),
        ("GITHUB_SHA", SHA),
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
    ];
    let flags = ["--github-actions", TOKEN, "--err"];
    let conclusion = || {
        let asked = fake.last(&format!("PATCH {CHECKS}"));
        asked.text("conclusion").to_owned()
    };
    ended(&run(&town, 1_000, &[], &[]), 0);

    ended(&run(&town, 1_500, &flags, &variables), 13);
    let comments = fake.with(|rule| rule.comments.clone());
    assert_eq!(comments.len(), 1);
    let first = &comments[0].1;
    assert!(
        first.contains("1 alert") && first.contains("sort"),
        "{first}"
    );
    assert_eq!(conclusion(), "failure");

    ended(&run(&town, 1_010, &flags, &variables), 0);
    let comments = fake.with(|rule| rule.comments.clone());
    assert_eq!(comments.len(), 1);
    assert!(comments[0].1.contains("No alerts"), "{}", comments[0].1);
    assert_eq!(conclusion(), "success");
    let summary = fs::read_to_string(summary).unwrap();
    assert_eq!(summary.matches("### Kiln").count(), 2, "{summary}");
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
            "PATCH /repos/them/tool/issues/comments/1000".to_owned(),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn github_is_told_of_a_command_that_failed() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    let fake = Fake::start(GitHubRule::default()).await;
    let variables = [
        ("GITHUB_API_URL", fake.url.as_str()),
        ("GITHUB_REPOSITORY", REPOSITORY),
        ("GITHUB_REF", "refs/pull/7/merge"),
        ("GITHUB_SHA", SHA),
    ];
    let data = town.data();
    let arguments = [
        "run",
        "--project",
        "test",
        "--data",
        data.to_str().unwrap(),
        "--github-actions",
        TOKEN,
        "exit 3",
    ];
    let exited = kiln_with(&arguments, "", &variables);
    ended(&exited, 10);
    let check = fake.last(&format!("PATCH {CHECKS}"));
    assert_eq!(check.text("conclusion"), "failure");
    assert_eq!(fake.with(|rule| rule.comments.len()), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn gitlab_is_told_how_a_run_ended_and_told_again() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    let fake = Fake::start(GitLabRule::default()).await;
    let base = format!("{}/api/v4", fake.url);
    let variables = [
        ("CI_API_V4_URL", base.as_str()),
        ("CI_PROJECT_ID", "42"),
        ("CI_MERGE_REQUEST_IID", "3"),
        ("CI_COMMIT_SHA", SHA),
    ];
    let flags = ["--gitlab", TOKEN, "--err"];
    ended(&run(&town, 1_000, &[], &[]), 0);

    ended(&run(&town, 1_500, &flags, &variables), 13);
    assert_eq!(fake.with(|rule| rule.state.clone()), "failed");
    let notes = fake.with(|rule| rule.notes.clone());
    assert!(notes[0].1.contains("sort"), "{}", notes[0].1);

    ended(&run(&town, 1_010, &flags, &variables), 0);
    assert_eq!(fake.with(|rule| rule.state.clone()), "success");
    let notes = fake.with(|rule| rule.notes.clone());
    assert_eq!(notes.len(), 1);
    assert!(notes[0].1.contains("No alerts"), "{}", notes[0].1);
    assert_eq!(fake.last("PUT ").path, format!("{NOTES}/500"));
}

#[test]
fn a_run_in_ci_names_its_project() {
    let arguments = ["run", "--dry-run", "--data", "/nowhere", "echo", "{}"];
    let exited = kiln_with(&arguments, "", &[("CI", "true")]);
    ended(&exited, 2);
    assert!(
        exited.stderr.contains("--ci-on-the-fly"),
        "{}",
        exited.stderr
    );
    let arguments = [
        "run",
        "--ci-on-the-fly",
        "--dry-run",
        "--data",
        "/nowhere",
        "echo",
        "{}",
    ];
    ended(&kiln_with(&arguments, "", &[("CI", "true")]), 0);
}
