use kiln_model::v0::NewRunner;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

fn install_tls() {
    // Every test of the process shares the provider; only the first call installs it.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn client(base: &str) -> Client {
    install_tls();
    Client::new(base, Some("bencher_user_secret")).unwrap()
}

/// A server that gives one answer and tells what it was asked.
async fn answer_once(status: &str, body: &str) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let asked = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let request = read_request(&mut socket).await;
        socket.write_all(answer.as_bytes()).await.unwrap();
        request
    });
    (base, asked)
}

async fn read_request(socket: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let expected = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.parse().unwrap());
            if body.len() >= expected {
                return String::from_utf8(bytes).unwrap();
            }
        }
        assert_ne!(socket.read_buf(&mut bytes).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_call_carries_the_key_and_reads_the_answer() {
    let (base, asked) = answer_once("200 OK", r#"{"version":"0.6.12"}"#).await;
    let version = client(&base).server_version().await.unwrap();
    assert_eq!(version.version, "0.6.12");
    let asked = asked.await.unwrap();
    assert!(
        asked.starts_with("GET /v0/server/version HTTP/1.1\r\n"),
        "{asked}"
    );
    assert!(
        asked.contains("authorization: Bearer bencher_user_secret\r\n"),
        "{asked}"
    );
}

#[tokio::test]
async fn a_body_is_sent_as_json() {
    let key = r#"{"uuid":"01a1de46-fdae-7a03-a2b6-b59b8818a183","key":"bencher_runner_x"}"#;
    let (base, asked) = answer_once("201 Created", key).await;
    let runner = NewRunner {
        name: "Rack 7".parse().unwrap(),
        slug: None,
    };
    let made = client(&base).create_runner(&runner).await.unwrap();
    assert_eq!(made.key, "bencher_runner_x");
    let asked = asked.await.unwrap();
    assert!(asked.starts_with("POST /v0/runners "), "{asked}");
    assert!(
        asked.contains("content-type: application/json\r\n"),
        "{asked}"
    );
    assert!(asked.ends_with(r#"{"name":"Rack 7"}"#), "{asked}");
}

#[tokio::test]
async fn a_list_is_asked_for_by_page_and_filter() {
    let (base, asked) = answer_once("200 OK", "[]").await;
    let page = Page {
        number: 2,
        size: 50,
    };
    let jobs = client(&base)
        .list_jobs("my project", Some(kiln_model::Status::Running), page)
        .await
        .unwrap();
    assert!(jobs.is_empty());
    let asked = asked.await.unwrap();
    let line = "GET /v0/projects/my%20project/jobs?page=2&per_page=50&status=running ";
    assert!(asked.starts_with(line), "{asked}");
}

#[tokio::test]
async fn a_refusal_is_an_error_with_the_servers_words() {
    let body = r#"{"request_id":"r-9","message":"no such runner"}"#;
    let (base, _asked) = answer_once("404 Not Found", body).await;
    let error = client(&base).get_runner("rack-7").await.unwrap_err();
    let Error::NotFound(answer) = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        answer.to_string(),
        "no such runner (status 404, request r-9)"
    );
}

#[tokio::test]
async fn a_refused_connection_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = client(&base).check_health().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert_eq!(error.to_string(), format!("cannot reach {base}"));
}

#[tokio::test]
async fn an_answer_of_another_shape_is_unreadable() {
    let (base, _asked) = answer_once("200 OK", r#"{"versions":[]}"#).await;
    let error = client(&base).server_version().await.unwrap_err();
    assert!(matches!(error, Error::Unreadable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (base, _asked) = answer_once(
        "307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/",
        "",
    )
    .await;
    let error = client(&base).check_health().await.unwrap_err();
    assert_eq!(error.answer().map(|answer| answer.status), Some(307));
}

#[test]
fn the_key_is_not_shown_by_debug() {
    let shown = format!("{:?}", client("http://host"));
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn addresses_that_are_not_a_servers_are_refused() {
    install_tls();
    for bad in [
        "",
        "host",
        "ftp://host",
        "http://u:p@host",
        "http://host/?q",
        "http://host/#f",
    ] {
        let refused = Client::new(bad, None);
        assert!(matches!(refused, Err(Error::Address(_))), "{bad:?}");
    }
}

#[test]
fn a_name_stays_one_segment_and_cannot_climb() {
    let base = parse_base("https://host/kiln/").unwrap();
    let url = join(&base, &["v0", "runners", "a/../b?c#d"]).unwrap();
    assert_eq!(
        url.as_str(),
        "https://host/kiln/v0/runners/a%2F..%2Fb%3Fc%23d"
    );
    for bad in ["", ".", ".."] {
        assert!(
            matches!(join(&base, &["v0", bad]), Err(Error::Name(_))),
            "{bad:?}"
        );
    }
}
