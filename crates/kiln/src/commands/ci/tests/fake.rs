//! A server that answers as a rule says, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

/// What was asked.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    /// With the query.
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }
}

/// How a forge answers.
pub(super) trait Rule: Send + 'static {
    fn answer(&mut self, asked: &Asked) -> (u16, Value);
}

pub(super) struct Fake<R> {
    pub(super) url: String,
    shared: Arc<Mutex<Shared<R>>>,
}

struct Shared<R> {
    rule: R,
    asked: Vec<Asked>,
}

impl<R: Rule> Fake<R> {
    pub(super) async fn start(rule: R) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let shared = Arc::new(Mutex::new(Shared {
            rule,
            asked: Vec::new(),
        }));
        let app = Router::new()
            .fallback(answer::<R>)
            .with_state(Arc::clone(&shared));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, shared }
    }

    /// Each call so far, as `METHOD path`.
    pub(super) fn calls(&self) -> Vec<String> {
        let shared = self.shared.lock().unwrap();
        let asked = shared.asked.iter();
        asked
            .map(|asked| format!("{} {}", asked.method, asked.path))
            .collect()
    }

    /// The last call that begins like this.
    pub(super) fn last(&self, call: &str) -> Asked {
        let shared = self.shared.lock().unwrap();
        let mut asked = shared.asked.iter().rev();
        let found =
            asked.find(|asked| format!("{} {}", asked.method, asked.path).starts_with(call));
        found.unwrap().clone()
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&mut R) -> T) -> T {
        look(&mut self.shared.lock().unwrap().rule)
    }
}

async fn answer<R: Rule>(
    State(shared): State<Arc<Mutex<Shared<R>>>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 22).await.unwrap();
    let asked = Asked {
        method: parts.method.to_string(),
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let mut shared = shared.lock().unwrap();
    let (status, body) = shared.rule.answer(&asked);
    shared.asked.push(asked);
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
}
