//! Manifests and indexes that are not what they should be.

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use futures_util::stream;
use kiln_model::Algorithm;

use super::{Shelf, client, manifest, pull, serve};
use crate::hashing::digest_of;
use crate::{Credentials, ImageError, ImageIndex, Limits, MediaType, Platform, RemoteErrorKind};

#[tokio::test]
async fn a_manifest_with_another_digest_is_refused() {
    let shelf = Shelf::new();
    let asked = digest_of(Algorithm::Sha256, b"something else");
    let server_shelf = shelf.clone();
    let address = serve(move |_| {
        let bytes = &server_shelf.contents[server_shelf.image.digest().as_str()];
        manifest(&MediaType::OciManifest, bytes)
    })
    .await;
    let error = pull(&client(&address, Credentials::Anonymous), asked.as_str())
        .await
        .unwrap_err();
    assert!(
        matches!(*error.kind, RemoteErrorKind::ManifestDigest { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_manifest_without_end_is_refused() {
    let address = serve(|_| {
        let zeros = stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 64 << 10]));
        let mut answer = Response::new(Body::from_stream(zeros));
        let kind = MediaType::OciManifest.as_str().parse().unwrap();
        answer.headers_mut().insert(CONTENT_TYPE, kind);
        answer
    })
    .await;
    let error = pull(&client(&address, Credentials::Anonymous), "v1")
        .await
        .unwrap_err();
    assert!(
        matches!(*error.kind, RemoteErrorKind::ManifestTooLarge),
        "{error:?}"
    );
}

/// Serves an index under `v1` with one entry for the given platform.
async fn serve_index(shelf: Shelf, platform: Platform) -> String {
    let mut entry = shelf.image.descriptor().clone();
    entry.platform = Some(platform);
    let index = serde_json::to_vec(&ImageIndex::new(vec![entry])).unwrap();
    serve(move |request| {
        assert!(request.uri().path().contains("/blobs/") || request.headers().contains_key(ACCEPT));
        if request.uri().path().ends_with("/v1") {
            return manifest(&MediaType::OciIndex, &index);
        }
        shelf.honest(request)
    })
    .await
}

#[tokio::test]
async fn an_index_leads_to_the_image_for_the_platform() {
    let shelf = Shelf::new();
    let address = serve_index(shelf.clone(), Platform::host()).await;
    let digest = pull(&client(&address, Credentials::Anonymous), "v1")
        .await
        .unwrap();
    assert_eq!(digest, *shelf.image.digest());
}

#[tokio::test]
async fn an_index_without_the_platform_says_what_it_has() {
    let address = serve_index(Shelf::new(), Platform::linux("pdp11")).await;
    let error = pull(&client(&address, Credentials::Anonymous), "v1")
        .await
        .unwrap_err();
    let RemoteErrorKind::Image(ImageError::Platform { offered, .. }) = *error.kind else {
        panic!("{error:?}");
    };
    assert_eq!(offered, "linux/pdp11");
}

#[tokio::test]
async fn layers_beyond_the_limits_are_not_even_asked_for() {
    let shelf = Shelf::new();
    let size = shelf.layer().size;
    let address = serve(move |request| {
        assert!(!shelf.is_layer(request), "the layer was asked for");
        shelf.honest(request)
    })
    .await;
    let limits = Limits {
        layer_bytes: size - 1,
        ..Limits::DEFAULT
    };
    let client = client(&address, Credentials::Anonymous).with_limits(limits);
    let error = pull(&client, "v1").await.unwrap_err();
    assert!(
        matches!(*error.kind, RemoteErrorKind::LayerTooLarge { .. }),
        "{error:?}"
    );
}
