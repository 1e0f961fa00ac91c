//! Bytes that break off, come twice, or are not those that were asked for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::header::{CONTENT_RANGE, RANGE};
use axum::http::{Response, StatusCode};
use futures_util::stream;

use super::{Shelf, answer, blob, broken_off, client, pull, serve};
use crate::{Credentials, LayoutError, RemoteErrorKind};

#[tokio::test]
async fn a_broken_transfer_goes_on_where_it_stopped() {
    let shelf = Shelf::new();
    let ranges = Arc::new(Mutex::new(Vec::new()));
    let (server_shelf, seen) = (shelf.clone(), Arc::clone(&ranges));
    let address = serve(move |request| {
        if !server_shelf.is_layer(request) {
            return server_shelf.honest(request);
        }
        let bytes = server_shelf.layer_bytes();
        let range = request
            .headers()
            .get(RANGE)
            .map(|range| range.to_str().unwrap().to_owned());
        seen.lock().unwrap().push(range.clone());
        match range.as_deref() {
            None => broken_off(bytes, 1000, StatusCode::OK),
            Some("bytes=1000-") => {
                let mut rest = broken_off(&bytes[1000..], 500, StatusCode::PARTIAL_CONTENT);
                rest.headers_mut()
                    .insert(CONTENT_RANGE, "bytes 1000-9/10".parse().unwrap());
                rest
            }
            // A registry may also ignore the range and start again.
            Some(_) => blob(bytes),
        }
    })
    .await;
    let digest = pull(&client(&address, Credentials::Anonymous), "v1")
        .await
        .unwrap();
    assert_eq!(digest, *shelf.image.digest());
    let expected = [
        None,
        Some("bytes=1000-".to_owned()),
        Some("bytes=1500-".to_owned()),
    ];
    assert_eq!(*ranges.lock().unwrap(), expected);
}

#[tokio::test]
async fn another_range_than_asked_for_is_refused() {
    let shelf = Shelf::new();
    let address = serve(move |request| {
        if !shelf.is_layer(request) {
            return shelf.honest(request);
        }
        if request.headers().contains_key(RANGE) {
            let mut wrong = blob(&shelf.layer_bytes()[..100]);
            *wrong.status_mut() = StatusCode::PARTIAL_CONTENT;
            wrong
                .headers_mut()
                .insert(CONTENT_RANGE, "bytes 0-99/100".parse().unwrap());
            return wrong;
        }
        broken_off(shelf.layer_bytes(), 1000, StatusCode::OK)
    })
    .await;
    let error = pull(&client(&address, Credentials::Anonymous), "v1")
        .await
        .unwrap_err();
    assert!(
        matches!(*error.kind, RemoteErrorKind::Protocol(_)),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_registry_that_stumbles_is_asked_again() {
    let shelf = Shelf::new();
    let stumbles = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&stumbles);
    let server_shelf = shelf.clone();
    let address = serve(move |request| {
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            return answer(StatusCode::SERVICE_UNAVAILABLE);
        }
        server_shelf.honest(request)
    })
    .await;
    let digest = pull(&client(&address, Credentials::Anonymous), "v1")
        .await
        .unwrap();
    assert_eq!(digest, *shelf.image.digest());
}

#[tokio::test]
async fn other_bytes_of_the_right_size_are_refused() {
    let shelf = Shelf::new();
    let address = serve(move |request| {
        if shelf.is_layer(request) {
            return blob(&vec![0; shelf.layer_bytes().len()]);
        }
        shelf.honest(request)
    })
    .await;
    let error = pull(&client(&address, Credentials::Anonymous), "v1")
        .await
        .unwrap_err();
    assert!(
        matches!(
            *error.kind,
            RemoteErrorKind::Layout(LayoutError::Digest { .. })
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn more_bytes_than_the_descriptor_says_are_refused() {
    for with_length in [true, false] {
        let shelf = Shelf::new();
        let address = serve(move |request| {
            if !shelf.is_layer(request) {
                return shelf.honest(request);
            }
            let more = [shelf.layer_bytes(), b"more"].concat();
            if with_length {
                return blob(&more);
            }
            let chunks = stream::iter([Ok::<_, std::io::Error>(more)]);
            Response::new(Body::from_stream(chunks))
        })
        .await;
        let error = pull(&client(&address, Credentials::Anonymous), "v1")
            .await
            .unwrap_err();
        assert!(
            matches!(*error.kind, RemoteErrorKind::BlobSize { .. }),
            "{error:?}"
        );
    }
}
