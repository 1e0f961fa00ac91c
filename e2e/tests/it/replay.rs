//! What a server's kernel did can be run again from its recording.

use std::fs;
use std::path::{Path, PathBuf};

use kiln_e2e::{Town, kiln, shell_image};
use kiln_model::Status;
use rustix::process::Signal;
use sha2::{Digest as _, Sha256};

const BMF: &str = r#"echo '{"echo": {"latency": {"value": 1.5}}}'"#;

/// Runs one job on a server that records, stops it with `signal`, and answers the recording.
async fn recorded(town: &Town, more: &[&str], signal: Signal) -> PathBuf {
    let directory = town.path().join("recordings");
    let mut arguments = vec!["--record", directory.to_str().expect("UTF-8")];
    arguments.extend(more);
    let mut server = town.server(0, &arguments);
    shell_image(
        town.path(),
        &server.url,
        &town.admin_key(),
        "test",
        "latest",
        BMF,
    )
    .await;
    let _runner = town.runner(&server).await;
    let client = town.client(&server);
    let job = Town::submit(&client, "test:latest")
        .await
        .expect("a run")
        .job
        .expect("a run of an image has a job");
    assert_eq!(Town::ended(&client, job).await.status, Status::Processed);
    server.process.signal(signal);
    server.process.wait();
    let mut files = fs::read_dir(directory).expect("recordings");
    let first = files.next().expect("a recording");
    first.expect("a file").path()
}

/// Puts `to` in the place of the last `from`, with a checksum that agrees.
fn forge(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).expect("a recording");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = lines
        .iter_mut()
        .rfind(|line| line.contains(from))
        .expect("a line to forge");
    let json = line[17..].replacen(from, to, 1);
    let mut checksum = [0; 8];
    checksum.copy_from_slice(&Sha256::digest(&json)[..8]);
    *line = format!("{:016x} {json}", u64::from_be_bytes(checksum));
    fs::write(file, lines.join("\n") + "\n").expect("our own file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_killed_is_replayed_without_its_database() {
    let town = Town::new();
    let file = recorded(&town, &[], Signal::KILL).await;
    fs::remove_dir_all(town.data()).unwrap();
    let replayed = kiln(&["replay", file.to_str().unwrap()], "");
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    assert!(
        replayed.stdout.contains("no divergence"),
        "{}",
        replayed.stdout
    );
    assert!(
        !replayed.stdout.starts_with("0 steps"),
        "{}",
        replayed.stdout
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_divergence_is_named_with_its_message() {
    let town = Town::new();
    let file = recorded(&town, &[], Signal::TERM).await;
    forge(&file, "SET resting = 1", "SET resting = 2");
    let replayed = kiln(&["replay", file.to_str().unwrap()], "");
    assert_eq!(replayed.code, Some(1), "{}", replayed.stdout);
    for said in [
        "process:",
        "diverges",
        "recorded:",
        "SET resting = 2",
        "now:",
        "SET resting = 1",
    ] {
        assert!(
            replayed.stderr.contains(said),
            "{said}: {}",
            replayed.stderr
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_of_a_server_on_postgresql_is_replayed_too() {
    let town = Town::new();
    let database = kiln_store::testing::postgres_database();
    let file = recorded(&town, &["--database", &database], Signal::TERM).await;
    let replayed = kiln(&["replay", file.to_str().unwrap(), "--json"], "");
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    let said: serde_json::Value = serde_json::from_str(&replayed.stdout).unwrap();
    assert!(said["steps"].as_u64().unwrap() > 0);
    assert!(said["divergence"].is_null());
}

#[test]
fn what_is_no_recording_is_refused_in_one_line() {
    let town = Town::new();
    let file = town.path().join("note");
    fs::write(&file, "hello\n").unwrap();
    let replayed = kiln(&["replay", file.to_str().unwrap()], "");
    assert_eq!(replayed.code, Some(2));
    assert!(
        replayed.stderr.contains("not a recording"),
        "{}",
        replayed.stderr
    );
    let missing = town.path().join("missing");
    assert_eq!(
        kiln(&["replay", missing.to_str().unwrap()], "").code,
        Some(2)
    );
}
