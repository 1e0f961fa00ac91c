//! An S3 server in this process, on loopback, over a temporary directory.

use std::net::SocketAddr;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

const BUCKET: &str = "kiln-test";
const ACCESS_KEY: &str = "test-access-key";
const SECRET_KEY: &str = "test-secret-key";

/// A running server; it ends when it is dropped.
#[derive(Debug)]
pub struct S3Server {
    root: TempDir,
    address: SocketAddr,
    task: AbortHandle,
}

impl S3Server {
    /// Starts a server with one empty bucket.
    ///
    /// # Panics
    /// When it cannot: a test that needs it fails.
    pub async fn start() -> Self {
        // The client wants a provider of cryptography even for plain HTTP; another test may have installed it.
        drop(rustls::crypto::ring::default_provider().install_default());
        let root = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(root.path().join(BUCKET)).expect("the directory is ours");
        let mut builder =
            S3ServiceBuilder::new(FileSystem::new(root.path()).expect("the directory is there"));
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = builder.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let serving = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let http = Builder::new(TokioExecutor::new());
                    // A client that goes away is no failure of the server.
                    drop(http.serve_connection(TokioIo::new(socket), service).await);
                });
            }
        });
        Self {
            root,
            address,
            task: serving.abort_handle(),
        }
    }

    /// The address of a prefix of the bucket, as [`Objects::open`](crate::Objects::open) takes it.
    pub fn url(&self, prefix: &str) -> String {
        format!(
            "s3://{BUCKET}/{prefix}?endpoint=http://{}&path_style=true&region=us-east-1&access_key_id={ACCESS_KEY}&secret_access_key={SECRET_KEY}",
            self.address
        )
    }

    /// The directory that holds the bucket's objects as files.
    pub fn bucket(&self) -> std::path::PathBuf {
        self.root.path().join(BUCKET)
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
