//! Against a registry that misbehaves on purpose, as no real one can be made to.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_RANGE, CONTENT_TYPE, RANGE, WWW_AUTHENTICATE,
};
use axum::http::{Method, Response, StatusCode};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use kiln_model::{Algorithm, Digest};

use crate::hashing::digest_of;
use crate::testing::{Layer, http_client, image_of};
use crate::{
    Client, Credentials, Descriptor, Image, ImageError, ImageIndex, ImageManifest, Layout,
    LayoutError, Limits, MediaType, Platform, Progress, RemoteError, RemoteErrorKind, Repository,
    Version,
};

type Request = axum::http::Request<Bytes>;
type Answer = Response<Body>;

/// Serves with a closure and gives the address.
async fn serve(handler: impl Fn(&Request) -> Answer + Clone + Send + Sync + 'static) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = axum::Router::new().fallback(async move |request: axum::extract::Request| {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        handler(&Request::from_parts(parts, body))
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn answer(status: StatusCode) -> Answer {
    Response::builder()
        .status(status)
        .body(Body::empty())
        .unwrap()
}

fn blob(bytes: &[u8]) -> Answer {
    Response::new(Body::from(bytes.to_vec()))
}

fn manifest(media_type: &MediaType, bytes: &[u8]) -> Answer {
    Response::builder()
        .header(CONTENT_TYPE, media_type.as_str())
        .body(Body::from(bytes.to_vec()))
        .unwrap()
}

/// Promises all the bytes and breaks off after some.
fn broken_off(bytes: &[u8], after: usize, status: StatusCode) -> Answer {
    let start = Bytes::copy_from_slice(&bytes[..after]);
    // While the body is not ready the server sends what it has; then the connection breaks.
    let chunks = stream::once(async move { Ok(start) }).chain(stream::once(async {
        tokio::task::yield_now().await;
        Err(std::io::Error::other("cut"))
    }));
    let body = Body::from_stream(chunks);
    Response::builder()
        .status(status)
        .header("content-length", bytes.len())
        .body(body)
        .unwrap()
}

/// An image's blobs and manifest by digest.
#[derive(Clone)]
struct Shelf {
    image: Image,
    contents: Arc<BTreeMap<String, Vec<u8>>>,
    _directory: Arc<tempfile::TempDir>,
}

impl Shelf {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let layout = Layout::create(directory.path()).unwrap();
        let image = image_of(
            &layout,
            &[Layer::new().file("f", &"contents ".repeat(1000)).finish()],
        );
        let ImageManifest { config, layers, .. } = image.manifest().clone();
        let contents = layers
            .iter()
            .chain([&config, image.descriptor()])
            .map(|d| (d.digest.to_string(), layout.read_blob(d).unwrap()))
            .collect();
        Self {
            image,
            contents: Arc::new(contents),
            _directory: Arc::new(directory),
        }
    }

    fn layer(&self) -> &Descriptor {
        &self.image.manifest().layers[0]
    }

    fn layer_bytes(&self) -> &[u8] {
        &self.contents[self.layer().digest.as_str()]
    }

    fn is_layer(&self, request: &Request) -> bool {
        request.uri().path().ends_with(self.layer().digest.as_str())
    }

    /// What a registry that works would say.
    fn honest(&self, request: &Request) -> Answer {
        let path = request.uri().path();
        let name = path.rsplit('/').next().unwrap();
        let name = if name == "v1" {
            self.image.digest().as_str()
        } else {
            name
        };
        match self.contents.get(name) {
            Some(bytes) if path.contains("/manifests/") => manifest(&MediaType::OciManifest, bytes),
            Some(bytes) => blob(bytes),
            None => answer(StatusCode::NOT_FOUND),
        }
    }
}

fn client(address: &str, credentials: Credentials) -> Client {
    Client::new(
        http_client(),
        format!("http://{address}").parse().unwrap(),
        credentials,
    )
}

async fn pull(client: &Client, version: &str) -> Result<Digest, RemoteError> {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    let repository: Repository = "app".parse().unwrap();
    let version = version
        .parse()
        .map_or_else(|_| Version::Tag(version.parse().unwrap()), Version::Digest);
    let image = client
        .pull(
            &repository,
            &version,
            &Platform::host(),
            &layout,
            &Progress::silent(),
        )
        .await?;
    for layer in &image.manifest().layers {
        layout.read_blob(layer).unwrap();
    }
    let blobs = std::fs::read_dir(directory.path().join("blobs/sha256")).unwrap();
    assert_eq!(blobs.count(), 3, "a manifest, a configuration and a layer");
    Ok(image.digest().clone())
}

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
