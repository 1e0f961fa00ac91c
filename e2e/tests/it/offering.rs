//! A server that has nothing but a newer program for its runners.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
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
    introduced: Arc<AtomicU32>,
    /// How many requests for the program are still to fail.
    faults: Arc<AtomicU32>,
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
            introduced: Arc::default(),
            faults: Arc::default(),
        };
        let routes = Router::new()
            .route("/v0/runners/{runner}/channel", get(meet))
            .route("/program", get(hand_out))
            .with_state(offering.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        offering
    }

    /// Does not hand out the program for so many requests.
    pub(crate) fn fail(&self, requests: u32) {
        self.faults.store(requests, Ordering::Relaxed);
    }

    /// How often a runner was ready for a job.
    pub(crate) fn times_ready(&self) -> u32 {
        self.ready.load(Ordering::Relaxed)
    }

    /// How often a runner said what it is, and so was open for an offer.
    pub(crate) fn times_introduced(&self) -> u32 {
        self.introduced.load(Ordering::Relaxed)
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
            self.ready.fetch_add(1, Ordering::Relaxed);
            // One that does not say what it is wants no other program. There never is a job.
            let answer = if said["runner"].is_null()
                || self.introduced.fetch_add(1, Ordering::Relaxed) >= self.offer.times
            {
                json!({"event": "no_job"})
            } else {
                let url = format!("{}/program", self.url);
                let checksum = &self.offer.checksum;
                json!({"event": "update", "version": "9", "url": url, "checksum": checksum})
            };
            let _ = runner.send(Message::text(answer.to_string())).await;
        }
    }
}

async fn meet(State(offering): State<Offering>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|runner| offering.talk(runner))
}

async fn hand_out(State(offering): State<Offering>) -> Result<Vec<u8>, StatusCode> {
    let one_less = |faults: u32| faults.checked_sub(1);
    let faults = &offering.faults;
    match faults.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
        Ok(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
        Err(_) => Ok(std::fs::read(&offering.offer.program).unwrap()),
    }
}
