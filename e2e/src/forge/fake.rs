//! A server that answers as a rule says, and remembers what it was asked.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

/// Longer than any comment.
const MAX_BODY: usize = 1 << 22;

/// What was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    /// With the query.
    pub path: String,
    pub body: Value,
    headers: HeaderMap,
}

impl Asked {
    /// Empty when there is none.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// A text of the body, which is empty when there is none.
    pub fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_default()
    }

    fn call(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// How a forge answers: a status and a body.
pub trait Rule: Send + 'static {
    fn answer(&mut self, asked: &Asked) -> (u16, Value);
}

/// A forge on loopback, for as long as the runtime that started it.
pub struct Fake<R> {
    pub url: String,
    shared: Arc<Mutex<Shared<R>>>,
}

struct Shared<R> {
    rule: R,
    asked: Vec<Asked>,
}

impl<R> fmt::Debug for Fake<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fake")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl<R: Rule> Fake<R> {
    pub async fn start(rule: R) -> Self {
        // Another test may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let shared = Arc::new(Mutex::new(Shared {
            rule,
            asked: Vec::new(),
        }));
        let app = Router::new()
            .fallback(answer::<R>)
            .with_state(Arc::clone(&shared));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self {
            url: format!("http://{address}"),
            shared,
        }
    }

    /// Each call so far, as `METHOD path`.
    pub fn calls(&self) -> Vec<String> {
        lock(&self.shared).asked.iter().map(Asked::call).collect()
    }

    /// The last call that begins like this.
    pub fn last(&self, call: &str) -> Asked {
        let shared = lock(&self.shared);
        let mut asked = shared.asked.iter().rev();
        let found = asked.find(|asked| asked.call().starts_with(call));
        found.expect("there was such a call").clone()
    }

    /// Looks at the forge, or changes it.
    pub fn with<T>(&self, look: impl FnOnce(&mut R) -> T) -> T {
        look(&mut lock(&self.shared).rule)
    }
}

/// A test that failed elsewhere is no reason to fail here.
fn lock<R>(shared: &Mutex<Shared<R>>) -> MutexGuard<'_, Shared<R>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer<R: Rule>(
    State(shared): State<Arc<Mutex<Shared<R>>>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let asked = Asked {
        method: parts.method.to_string(),
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let mut shared = lock(&shared);
    let (status, body) = shared.rule.answer(&asked);
    shared.asked.push(asked);
    let status = StatusCode::from_u16(status).expect("rules answer with statuses");
    (status, body.to_string()).into_response()
}
