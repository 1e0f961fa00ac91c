//! A registry that knows one manifest.

use std::fmt::Write as _;

use kiln_model::Digest;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::failure::Failure;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Answers until it is dropped.
pub(super) struct Registry {
    pub(super) url: String,
    pub(super) digest: Digest,
    serving: AbortHandle,
}

impl Registry {
    pub(super) async fn serve(manifest: Vec<u8>) -> Result<Self, Failure> {
        let failed = |source| Failure::io("listen", source);
        let digest = Digest::from_hash(&Sha256::digest(&manifest)).expect("SHA-256 has 32 bytes");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        let answer = answer(&manifest, &digest);
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(converse(client, answer.clone()));
            }
        });
        Ok(Self {
            url,
            digest,
            serving: serving.abort_handle(),
        })
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn answer(manifest: &[u8], digest: &Digest) -> Vec<u8> {
    let mut head = "HTTP/1.1 200 OK\r\n".to_owned();
    let headers = [
        ("content-type", MANIFEST.to_owned()),
        ("content-length", manifest.len().to_string()),
        ("docker-content-digest", digest.to_string()),
    ];
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").expect("a string takes what is written");
    }
    [head.as_bytes(), b"\r\n", manifest].concat()
}

/// The same answer to whatever is asked, as long as the client asks.
async fn converse(mut client: TcpStream, answer: Vec<u8>) {
    let mut asked = Vec::new();
    while let Ok(1..) = client.read_buf(&mut asked).await {
        if asked.ends_with(b"\r\n\r\n") {
            asked.clear();
            if client.write_all(&answer).await.is_err() {
                return;
            }
        }
    }
}
