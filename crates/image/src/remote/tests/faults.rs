//! Against a registry that misbehaves on purpose, as no real one can be made to.

mod manifests;
mod tokens;
mod transfers;
mod uploads;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Response, StatusCode};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use kiln_model::Digest;

use crate::testing::{Layer, http_client, image_of};
use crate::{
    Client, Credentials, Descriptor, Image, ImageManifest, Layout, MediaType, Platform, Progress,
    RemoteError, Repository, Version,
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
