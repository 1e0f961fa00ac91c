//! A server on loopback with one project, and the smallest client that can talk to it.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use kiln_control::access::Caller;
use kiln_control::projects::{self, OnTheFly};
use kiln_model::{OrganizationUuid, ProjectUuid};
use kiln_store::{Store, StoreConfig, SystemClock, SystemEntropy, Tx};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::answer::Answer;
use crate::app::App;
use crate::first_start;
use crate::openapi::{DOCUMENT, contract};

/// The project of every test.
pub(super) const PROJECT: &str = "the-project";

pub(super) struct Door {
    key: String,
    address: SocketAddr,
    listening: JoinHandle<()>,
}

impl Door {
    pub(super) async fn sqlite() -> Self {
        Self::open("sqlite::memory:").await
    }

    pub(super) async fn postgres() -> Self {
        let starting = tokio::task::spawn_blocking(kiln_store::testing::postgres_database);
        Self::open(&starting.await.unwrap()).await
    }

    async fn open(database: &str) -> Self {
        let (clock, entropy) = (Arc::new(SystemClock::default()), Arc::new(SystemEntropy));
        let mut config = StoreConfig::new(database, clock.clone(), entropy.clone());
        config.objects = "memory:".to_owned();
        let opening = tokio::task::spawn_blocking(move || {
            let store = Store::open(&config).unwrap();
            let key = first_start::admin(&store, &SystemClock::default(), &SystemEntropy)
                .unwrap()
                .unwrap();
            (store, key)
        });
        let (store, key) = opening.await.unwrap();
        let wall = kiln_model::Clock::wall(&*clock);
        for slug in [PROJECT, "another-project"] {
            let ids = OnTheFly {
                project: ProjectUuid::mint(wall, &*entropy),
                organization: OrganizationUuid::mint(wall, &*entropy),
            };
            let create = move |tx: &mut dyn Tx| {
                projects::find_or_create(tx, &Caller::Anonymous, slug, ids).map(drop)
            };
            store.ledger.submit(create).await.unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Arc::new(App::at(address, store, clock, entropy));
        let routes: Router = crate::v0::routes().with_state(app);
        let routes = routes.into_make_service_with_connect_info::<SocketAddr>();
        let listening = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            key,
            address,
            listening,
        }
    }

    /// A request about the project, whose path goes on after its name, or one with a whole path.
    pub(super) async fn call(&self, method: &str, path: &str, body: &Value) -> Answer {
        let path = match path.strip_prefix('/') {
            Some(whole) => format!("/{whole}"),
            None => format!("/v0/projects/{PROJECT}/{path}"),
        };
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            self.key,
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let answer = Answer::read(&bytes);
        if let Ok(body) = serde_json::from_slice(&answer.body) {
            let complaint = contract::complaint(&DOCUMENT, (method, &path), (answer.status, &body));
            assert_eq!(complaint, None, "the OpenAPI document says otherwise");
        }
        answer
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        let answer = self.call("GET", path, &Value::Null).await;
        answer.body_of(200)
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Value {
        self.call("POST", path, body).await.body_of(201)
    }

    pub(super) async fn patch(&self, path: &str, body: &Value) -> Value {
        self.call("PATCH", path, body).await.body_of(200)
    }

    pub(super) async fn delete(&self, path: &str) -> u16 {
        self.call("DELETE", path, &Value::Null).await.status
    }

    /// A report of latencies on `main` and `host`.
    pub(super) async fn report(&self, latencies: &[(&str, f64)]) -> Value {
        self.report_on("main", latencies, json!({})).await
    }

    /// The same with other fields.
    pub(super) async fn report_on(
        &self,
        branch: &str,
        latencies: &[(&str, f64)],
        more: Value,
    ) -> Value {
        let results: serde_json::Map<String, Value> = latencies
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!({"latency": {"value": value}})))
            .collect();
        let mut report = json!({
            "branch": branch,
            "testbed": "host",
            "start_time": "2026-11-15T08:16:16Z",
            "end_time": "2026-11-15T08:16:17Z",
            "results": [Value::Object(results).to_string()],
            "settings": {"adapter": "json"},
        });
        for (field, value) in more.as_object().unwrap() {
            report[field] = value.clone();
        }
        self.post("reports", &report).await
    }

    /// A threshold for latencies on `main` and `host`.
    pub(super) async fn threshold(&self, model: &Value) -> Value {
        let mut threshold = json!({"branch": "main", "testbed": "host", "measure": "latency"});
        for (field, value) in model.as_object().unwrap() {
            threshold[field] = value.clone();
        }
        self.post("thresholds", &threshold).await
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Answer {
    /// The body, if the status is this one.
    #[track_caller]
    pub(super) fn body_of(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }
}
