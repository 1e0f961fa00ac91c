//! A disk that is full, and an S3 that dies: the client is told, and nothing is half there.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use kiln_e2e::{ServerProcess, Town, kiln};
use kiln_model::Digest;
use reqwest::{Method, StatusCode};
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::engines::{object_url, serve_s3};

/// A small file system; gone when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(path: PathBuf, size: &str) -> Self {
        std::fs::create_dir_all(&path).unwrap();
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&path)
            .status()
            .unwrap();
        assert!(
            status.success(),
            "this test mounts a small tmpfs: run it as root"
        );
        Self(path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Nothing more can be done about one that stays.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Pushes and looks for single blobs, as an administrator.
struct Pusher {
    http: reqwest::Client,
    url: String,
    key: String,
}

impl Pusher {
    fn new(town: &Town, server: &ServerProcess) -> Self {
        Self {
            http: reqwest::Client::new(),
            url: server.url.clone(),
            key: town.admin_key(),
        }
    }

    async fn send(&self, method: Method, path: &str, body: &[u8]) -> StatusCode {
        let url = format!("{}/v2/p/blobs/{path}", self.url);
        let request = self.http.request(method, url).bearer_auth(&self.key);
        let answer = request.body(body.to_vec()).send().await.unwrap();
        let status = answer.status();
        // A body that breaks off is no answer.
        match answer.bytes().await {
            Ok(_) => status,
            Err(_) => StatusCode::BAD_GATEWAY,
        }
    }

    async fn push(&self, bytes: &[u8]) -> StatusCode {
        let path = format!("uploads/?digest={}", sha256(bytes));
        self.send(Method::POST, &path, bytes).await
    }

    async fn look(&self, method: Method, bytes: &[u8]) -> StatusCode {
        self.send(method, sha256(bytes).as_str(), b"").await
    }
}

fn sha256(bytes: &[u8]) -> Digest {
    Digest::from_hash(&Sha256::digest(bytes)).unwrap()
}

/// Everything that the registry holds is whole.
fn verify(data: &Path) {
    let verified = kiln(
        &["registry", "verify", "--data", data.to_str().unwrap()],
        "",
    );
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    assert!(
        verified.stdout.contains("0 are damaged"),
        "{}",
        verified.stdout
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_a_blob_and_shows_nothing_of_it() {
    let town = Town::new();
    let disk = SmallDisk::mount(town.path().join("objects"), "8m");
    let server = town.server(0, &["--objects", disk.0.to_str().unwrap()]);
    let pusher = Pusher::new(&town, &server);
    let (small, large) = (vec![1; 1 << 20], vec![2; 12 << 20]);
    assert_eq!(pusher.push(&small).await, StatusCode::CREATED);
    assert_eq!(
        pusher.push(&large).await,
        StatusCode::INSUFFICIENT_STORAGE,
        "it does not fit"
    );
    assert_eq!(
        pusher.look(Method::HEAD, &large).await,
        StatusCode::NOT_FOUND
    );
    // What it had taken is free again, and what was there still is.
    assert_eq!(pusher.push(&vec![3; 4 << 20]).await, StatusCode::CREATED);
    assert_eq!(pusher.look(Method::GET, &small).await, StatusCode::OK);
    verify(&town.data());
}

/// Stands before an S3 server, and lets nothing through while it is dead.
struct Bridge {
    address: SocketAddr,
    alive: watch::Sender<bool>,
}

impl Bridge {
    async fn to(s3: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (alive, told) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut told = told.clone();
                tokio::spawn(async move {
                    if !*told.borrow_and_update() {
                        return;
                    }
                    let Ok(mut far) = TcpStream::connect(s3).await else {
                        return;
                    };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        _ = told.changed() => {}
                    }
                });
            }
        });
        Self { address, alive }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_s3_that_dies_is_told_and_what_it_did_not_take_is_not_there() {
    let town = Town::new();
    std::fs::create_dir_all(town.path().join("s3").join("kiln")).unwrap();
    let bridge = Bridge::to(serve_s3(&town.path().join("s3")).await).await;
    let objects = object_url(bridge.address);
    let server = town.server(0, &["--objects", &objects]);
    let pusher = Pusher::new(&town, &server);
    let (before, during) = (vec![1; 1 << 20], vec![2; 1 << 20]);
    assert_eq!(pusher.push(&before).await, StatusCode::CREATED);
    bridge.alive.send(false).unwrap();
    let refused = pusher.push(&during).await;
    assert!(refused.is_server_error(), "{refused}");
    let unread = pusher.look(Method::GET, &before).await;
    assert!(unread.is_server_error(), "{unread}");
    assert_eq!(
        pusher.look(Method::HEAD, &during).await,
        StatusCode::NOT_FOUND
    );
    bridge.alive.send(true).unwrap();
    assert_eq!(pusher.look(Method::GET, &before).await, StatusCode::OK);
    assert_eq!(pusher.push(&during).await, StatusCode::CREATED);
    assert_eq!(pusher.look(Method::GET, &during).await, StatusCode::OK);
    verify(&town.data());
}
