//! A registry on loopback: the blobs of a layout, for who has the token.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kiln_image::{Layout, MediaType};
use kiln_model::Digest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

pub(super) const TOKEN: &str = "pull-token";

pub(super) struct Registry {
    address: String,
    image: Digest,
    blobs_served: Arc<AtomicUsize>,
    silent: TcpListener,
    _task: AbortOnDropHandle<()>,
}

impl Registry {
    pub(super) async fn serve(layout: Layout, image: Digest) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let blobs_served = Arc::new(AtomicUsize::new(0));
        let (shelf, served) = (Arc::new(layout), Arc::clone(&blobs_served));
        let task = tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(socket, Arc::clone(&shelf), Arc::clone(&served)));
            }
        });
        Self {
            address,
            image,
            blobs_served,
            silent: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Where connections are taken and nothing is said.
    pub(super) fn silent_url(&self) -> String {
        format!("http://{}/", self.silent.local_addr().unwrap())
    }

    pub(super) const fn digest(&self) -> &Digest {
        &self.image
    }

    pub(super) fn blobs_served(&self) -> usize {
        self.blobs_served.load(Ordering::Relaxed)
    }
}

async fn answer(mut socket: TcpStream, layout: Arc<Layout>, served: Arc<AtomicUsize>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let request = String::from_utf8(request).unwrap();
    let path = request.split(' ').nth(1).unwrap();
    let mut parts = path.rsplit('/');
    let digest: Option<Digest> = parts.next().and_then(|last| last.parse().ok());
    let is_blob = parts.next() == Some("blobs");
    let is_allowed = request.contains(&format!("authorization: Bearer {TOKEN}\r\n"));
    let body = digest.and_then(|digest| std::fs::read(layout.blob_path(&digest)).ok());
    let (status, media_type, body) = match body {
        _ if !is_allowed => ("401 Unauthorized", "text/plain".to_owned(), Vec::new()),
        None => ("404 Not Found", "text/plain".to_owned(), Vec::new()),
        Some(body) if is_blob => {
            served.fetch_add(1, Ordering::Relaxed);
            ("200 OK", "application/octet-stream".to_owned(), body)
        }
        Some(body) => ("200 OK", MediaType::OciManifest.to_string(), body),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // A client that has hung up does not want the answer.
    let _ = socket.write_all(head.as_bytes()).await;
    let _ = socket.write_all(&body).await;
}
