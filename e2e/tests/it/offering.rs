//! A server that has nothing but a newer program for its runners.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

/// What runners have said to it.
#[derive(Clone, Debug)]
pub(crate) struct Offering {
    pub(crate) url: String,
    offer: Arc<Offer>,
    ready: Arc<AtomicU32>,
}

#[derive(Debug)]
struct Offer {
    program: PathBuf,
    checksum: String,
    /// How often it is made: a real server stops when the runner has the version it offers.
    times: u32,
}

impl Offering {
    /// Listens on an address, and offers a program so many times.
    pub(crate) async fn start(address: &str, program: &Path, times: u32) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let content = std::fs::read(program).unwrap();
        let digest = Sha256::digest(content);
        let checksum = format!("{:x}", Bytes::copy_from_slice(&digest));
        let offering = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            offer: Arc::new(Offer {
                program: program.to_owned(),
                checksum,
                times,
            }),
            ready: Arc::default(),
        };
        let routes = Router::new()
            .route("/v0/runners/{runner}/channel", get(meet))
            .route("/program", get(hand_out))
            .with_state(offering.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        offering
    }

    /// How often a runner was ready for a job.
    pub(crate) fn times_ready(&self) -> u32 {
        self.ready.load(Ordering::Relaxed)
    }

    async fn talk(self, mut runner: WebSocket) {
        while let Some(Ok(message)) = runner.recv().await {
            let Ok(text) = message.to_text() else {
                continue;
            };
            let said: Value = serde_json::from_str(text).unwrap_or_default();
            if said["event"] != "ready" {
                continue;
            }
            let count = self.ready.fetch_add(1, Ordering::Relaxed) + 1;
            // One that does not say what it is wants no other program; it waits for a job that never comes.
            if count <= self.offer.times && !said["runner"].is_null() {
                let url = format!("{}/program", self.url);
                let checksum = &self.offer.checksum;
                let update =
                    json!({"event": "update", "version": "9", "url": url, "checksum": checksum});
                let _ = runner.send(Message::text(update.to_string())).await;
            }
        }
    }
}

async fn meet(State(offering): State<Offering>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|runner| offering.talk(runner))
}

async fn hand_out(State(offering): State<Offering>) -> Vec<u8> {
    std::fs::read(&offering.offer.program).unwrap()
}
