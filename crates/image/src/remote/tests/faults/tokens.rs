//! Who is given credentials, and who never.

use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};

use super::{Shelf, answer, blob, client, pull, serve};
use crate::{Credentials, RemoteErrorKind};

const BASIC: &str = "Basic YW5uOnNlY3JldA==";

/// Wants a token from its own token service, which wants `ann:secret`.
async fn serve_with_tokens(shelf: Shelf, requests: Arc<Mutex<Vec<String>>>) -> String {
    serve(move |request| {
        let header = |name| {
            request
                .headers()
                .get(name)
                .map(|value| value.to_str().unwrap())
        };
        let authorization = header(AUTHORIZATION);
        let host = header(axum::http::header::HOST).unwrap();
        requests.lock().unwrap().push(request.uri().to_string());
        if request.uri().path() == "/token" {
            return match authorization {
                Some(BASIC) => blob(br#"{"token":"granted","expires_in":300}"#),
                _ => answer(StatusCode::UNAUTHORIZED),
            };
        }
        if authorization == Some("Bearer granted") {
            return shelf.honest(request);
        }
        let mut challenge = answer(StatusCode::UNAUTHORIZED);
        let text = format!(r#"Bearer realm="http://{host}/token",service="kiln""#);
        challenge
            .headers_mut()
            .insert(WWW_AUTHENTICATE, text.parse().unwrap());
        challenge
    })
    .await
}

fn ann(password: &str) -> Credentials {
    Credentials::Basic {
        user: "ann".into(),
        password: password.into(),
    }
}

#[tokio::test]
async fn a_challenge_is_answered_once_for_the_whole_transfer() {
    let shelf = Shelf::new();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let address = serve_with_tokens(shelf.clone(), Arc::clone(&requests)).await;
    let digest = pull(&client(&address, ann("secret")), "v1").await.unwrap();
    assert_eq!(digest, *shelf.image.digest());
    let requests = requests.lock().unwrap();
    let tokens: Vec<_> = requests
        .iter()
        .filter(|uri| uri.starts_with("/token"))
        .collect();
    assert_eq!(
        tokens,
        ["/token?scope=repository%3Aapp%3Apull&service=kiln"]
    );
}

#[tokio::test]
async fn wrong_credentials_are_refused_and_not_repeated() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let address = serve_with_tokens(Shelf::new(), Arc::clone(&requests)).await;
    let error = pull(&client(&address, ann("wrong")), "v1")
        .await
        .unwrap_err();
    assert!(
        matches!(*error.kind, RemoteErrorKind::Unauthorized(_)),
        "{error:?}"
    );
    assert_eq!(requests.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_given_token_is_used_as_it_is() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let address = serve_with_tokens(Shelf::new(), Arc::clone(&requests)).await;
    pull(
        &client(&address, Credentials::Bearer("granted".into())),
        "v1",
    )
    .await
    .unwrap();
    let error = pull(&client(&address, Credentials::Bearer("stale".into())), "v1")
        .await
        .unwrap_err();
    assert!(
        matches!(*error.kind, RemoteErrorKind::Unauthorized(_)),
        "{error:?}"
    );
    assert!(
        !requests
            .lock()
            .unwrap()
            .iter()
            .any(|uri| uri.starts_with("/token"))
    );
}

#[tokio::test]
async fn a_token_does_not_follow_a_redirect_to_another_origin() {
    let shelf = Shelf::new();
    let leaked = Arc::new(Mutex::new(Vec::new()));
    let (elsewhere_shelf, seen) = (shelf.clone(), Arc::clone(&leaked));
    let elsewhere = serve(move |request| {
        seen.lock()
            .unwrap()
            .push(request.headers().contains_key(AUTHORIZATION));
        elsewhere_shelf.honest(request)
    })
    .await;
    let address = serve(move |request| {
        if !request.uri().path().contains("/blobs/") {
            return shelf.honest(request);
        }
        let mut redirect = answer(StatusCode::TEMPORARY_REDIRECT);
        let location = format!("http://{elsewhere}{}", request.uri().path());
        redirect
            .headers_mut()
            .insert("location", location.parse().unwrap());
        redirect
    })
    .await;
    pull(
        &client(&address, Credentials::Bearer("secret".into())),
        "v1",
    )
    .await
    .unwrap();
    assert_eq!(*leaked.lock().unwrap(), [false, false]);
}

#[test]
fn credentials_do_not_show_in_debug_output() {
    let client = client("127.0.0.1:1", ann("hunter2"));
    assert!(!format!("{client:?}").contains("hunter2"));
    assert!(!format!("{:?}", Credentials::Bearer("hunter2".into())).contains("hunter2"));
}
