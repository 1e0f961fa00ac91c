use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

const OLD: &str = "#!/bin/sh\necho old\n";
const NEW: &str = "#!/bin/sh\necho new\n";
const NEWER: &str = "#!/bin/sh\necho newer\n";

fn installed() -> (TempDir, Program) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("kiln");
    fs::write(&path, OLD).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (directory, Program::at(path))
}

/// An address that answers one request with this body.
async fn serve(body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/kiln", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut peer, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = peer.read(&mut request).await.unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        peer.write_all(head.as_bytes()).await.unwrap();
        peer.write_all(body.as_bytes()).await.unwrap();
    });
    url
}

async fn fetch(
    program: &Program,
    body: &'static str,
    checksum: &str,
) -> Result<Candidate, UpdateError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let offer = Offer {
        version: "2.0.0".to_owned(),
        url: serve(body).await,
        checksum: checksum.to_owned(),
    };
    program.fetch(&reqwest::Client::new(), &offer).await
}

fn checksum_of(body: &str) -> String {
    use sha2::{Digest as _, Sha256};
    fetch::hexadecimal(&Sha256::digest(body))
}

fn content(program: &Program) -> String {
    fs::read_to_string(program.path()).unwrap()
}

fn files(directory: &TempDir) -> usize {
    fs::read_dir(directory.path()).unwrap().count()
}

#[tokio::test]
async fn an_update_is_swapped_in_and_confirmed() {
    let (directory, program) = installed();
    let candidate = fetch(&program, NEW, &checksum_of(NEW)).await.unwrap();
    assert_eq!(content(&program), OLD);
    program.swap(candidate).unwrap();
    assert_eq!(content(&program), NEW);
    assert_eq!(program.start().unwrap(), Standing::OnTrial);
    program.confirm().unwrap();
    assert_eq!(program.start().unwrap(), Standing::Settled);
    assert_eq!(files(&directory), 1);
}

#[tokio::test]
async fn a_wrong_checksum_changes_nothing_and_leaves_nothing() {
    let (directory, program) = installed();
    let error = fetch(&program, NEW, &checksum_of(OLD)).await.unwrap_err();
    assert!(matches!(error, UpdateError::Checksum { .. }), "{error:?}");
    assert_eq!(content(&program), OLD);
    assert_eq!(files(&directory), 1);
}

#[tokio::test]
async fn a_program_that_does_not_run_here_is_not_taken() {
    const BROKEN: &str = "#!/bin/sh\nexit 1\n";
    let (directory, program) = installed();
    let error = fetch(&program, BROKEN, &checksum_of(BROKEN))
        .await
        .unwrap_err();
    assert!(matches!(error, UpdateError::Unhealthy { .. }), "{error:?}");
    assert_eq!(content(&program), OLD);
    assert_eq!(files(&directory), 1);
}

#[tokio::test]
async fn a_program_that_never_comes_up_is_rolled_back() {
    let (directory, program) = installed();
    let candidate = fetch(&program, NEW, &checksum_of(NEW)).await.unwrap();
    program.swap(candidate).unwrap();
    for _ in 0..3 {
        assert_eq!(program.start().unwrap(), Standing::OnTrial);
    }
    assert_eq!(program.start().unwrap(), Standing::RolledBack);
    assert_eq!(content(&program), OLD);
    assert_eq!(program.start().unwrap(), Standing::Settled);
    // Which one it was is all that is left.
    assert_eq!(files(&directory), 2);
}

async fn on_trial() -> (TempDir, Program) {
    let (directory, program) = installed();
    let candidate = fetch(&program, NEW, &checksum_of(NEW)).await.unwrap();
    program.swap(candidate).unwrap();
    (directory, program)
}

#[tokio::test]
async fn a_program_that_was_rolled_back_is_not_tried_again_at_once() {
    let (_directory, program) = on_trial().await;
    assert!(program.end_trial().unwrap());
    let error = fetch(&program, NEW, &checksum_of(NEW)).await.unwrap_err();
    assert!(matches!(error, UpdateError::Rejected { .. }), "{error:?}");
    fetch(&program, NEWER, &checksum_of(NEWER)).await.unwrap();
}

#[tokio::test]
async fn a_trial_ends_with_the_old_program_unless_the_new_one_has_proved_itself() {
    let (_directory, program) = on_trial().await;
    program.confirm().unwrap();
    assert!(!program.end_trial().unwrap());
    assert_eq!(content(&program), NEW);
}

#[tokio::test]
async fn a_crash_while_rolling_back_is_made_up_for_by_the_next_start() {
    let (_directory, program) = on_trial().await;
    // The old program is in place again, and the file that tells of a trial is still there.
    fs::rename(program.beside(".old"), program.path()).unwrap();
    fs::write(program.beside(".trial"), "3").unwrap();
    assert_eq!(program.start().unwrap(), Standing::RolledBack);
    assert_eq!(program.start().unwrap(), Standing::Settled);
    assert_eq!(content(&program), OLD);
    assert!(!program.has_rejected(&checksum_of(OLD)));
}

#[tokio::test(start_paused = true)]
async fn a_program_that_does_not_end_is_not_waited_for() {
    let (_directory, program) = installed();
    fs::write(program.path(), "#!/bin/sh\nexec sleep 1000\n").unwrap();
    let error = fetch::check_health(program.path()).await.unwrap_err();
    assert!(error.to_string().contains("did not end"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_address_that_never_answers_is_not_waited_for() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (directory, program) = installed();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let offer = Offer {
        version: "2.0.0".to_owned(),
        url: format!("http://{}/kiln", silent.local_addr().unwrap()),
        checksum: checksum_of(NEW),
    };
    let http = reqwest::Client::new();
    let error = program.fetch(&http, &offer).await.unwrap_err();
    assert!(matches!(error, UpdateError::Slow { .. }), "{error:?}");
    assert_eq!(files(&directory), 1);
}
