//! Pushes that are led elsewhere or break.

use std::sync::{Arc, Mutex};

use axum::http::header::{AUTHORIZATION, CONTENT_RANGE, RANGE};
use axum::http::{Method, StatusCode};

use super::{Answer, Request, Shelf, answer, client, serve};
use crate::testing::{Layer, image_of};
use crate::{Client, Credentials, Image, Layout, Progress, Repository};

/// Takes uploads and manifests without keeping them; sessions live at `location`.
fn accept_pushes(request: &Request, location: &str) -> Answer {
    let status = match *request.method() {
        Method::HEAD => StatusCode::NOT_FOUND,
        Method::POST | Method::PATCH => StatusCode::ACCEPTED,
        _ => StatusCode::CREATED,
    };
    let mut accepted = answer(status);
    accepted
        .headers_mut()
        .insert("location", location.parse().unwrap());
    accepted
}

async fn push(client: &Client, image: &Image) {
    let repository: Repository = "app".parse().unwrap();
    client
        .push(image, &repository, &[], &Progress::silent())
        .await
        .unwrap();
}

#[tokio::test]
async fn an_upload_elsewhere_goes_without_the_token() {
    let shelf = Shelf::new();
    let leaked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&leaked);
    let elsewhere = serve(move |request| {
        seen.lock()
            .unwrap()
            .push(request.headers().contains_key(AUTHORIZATION));
        accept_pushes(request, "/upload")
    })
    .await;
    let location = format!("http://{elsewhere}/upload");
    let address = serve(move |request| {
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer secret");
        accept_pushes(request, &location)
    })
    .await;
    push(
        &client(&address, Credentials::Bearer("secret".into())),
        &shelf.image,
    )
    .await;
    assert_eq!(*leaked.lock().unwrap(), [false, false]);
}

#[tokio::test]
async fn a_broken_upload_in_pieces_goes_on_where_the_registry_is() {
    const PIECE: usize = 32 << 20;
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    let contents = vec![7; 2 * PIECE + 100];
    let archive = Layer::new()
        .entry(tar::EntryType::Regular, "large", "", 0o644, &contents)
        .finish();
    let size = archive.len();
    let image = image_of(&layout, std::slice::from_ref(&archive));

    let stored = Arc::new(Mutex::new(Vec::new()));
    let ranges = Arc::new(Mutex::new(Vec::new()));
    let (store, seen) = (Arc::clone(&stored), Arc::clone(&ranges));
    let address = serve(move |request| {
        let mut store = store.lock().unwrap();
        let mut reply = accept_pushes(request, "/upload");
        if request.method() == Method::PATCH {
            let range = request.headers()[CONTENT_RANGE]
                .to_str()
                .unwrap()
                .to_owned();
            let mut seen = seen.lock().unwrap();
            seen.push(range);
            if seen.len() == 2 {
                // Half of the piece arrives and the answer is lost.
                store.extend_from_slice(&request.body()[..PIECE / 2]);
                return answer(StatusCode::BAD_GATEWAY);
            }
            store.extend_from_slice(request.body());
        }
        if request.method() == Method::GET {
            *reply.status_mut() = StatusCode::NO_CONTENT;
            let range = format!("0-{}", store.len() - 1);
            reply.headers_mut().insert(RANGE, range.parse().unwrap());
        }
        reply
    })
    .await;
    push(&client(&address, Credentials::Anonymous), &image).await;

    assert!(
        *stored.lock().unwrap() == archive,
        "the registry has the archive's bytes"
    );
    let expected = [
        (0, PIECE),
        (PIECE, 2 * PIECE),
        (PIECE * 3 / 2, PIECE * 5 / 2),
    ]
    .map(|(start, end)| format!("{start}-{}", end.min(size) - 1));
    assert_eq!(*ranges.lock().unwrap(), expected);
}
