//! A payment provider that is as strict as the real one about `POST /v1/billing/meter_events`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

pub(crate) const SECRET: &str = "sk_test_51";
pub(crate) const METER: &str = "runner_minutes";
/// Who is a customer here.
pub(crate) const CUSTOMER: &str = "cus_good";

/// A meter event that came in, and what was answered.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) identifier: String,
    pub(crate) customer: String,
    pub(crate) status: u16,
}

#[derive(Debug)]
pub(crate) struct Stripe {
    pub(crate) url: String,
    told: tokio::sync::Mutex<UnboundedReceiver<Told>>,
    desk: Arc<Desk>,
}

#[derive(Debug)]
struct Desk {
    tell: UnboundedSender<Told>,
    /// What is answered before anything is looked at.
    bad_days: Mutex<VecDeque<u16>>,
    /// The identifiers that were taken.
    taken: Mutex<BTreeSet<String>>,
}

impl Stripe {
    /// On a thread of its own, which lives as long as the process.
    pub(crate) fn start(bad_days: &[u16]) -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        let desk = Arc::new(Desk {
            tell,
            bad_days: Mutex::new(bad_days.iter().copied().collect()),
            taken: Mutex::default(),
        });
        let (say, said) = std::sync::mpsc::channel();
        let served = Arc::clone(&desk);
        std::thread::spawn(move || {
            tokio::runtime::Runtime::new().unwrap().block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                say.send(listener.local_addr().unwrap()).unwrap();
                let routes = Router::new()
                    .route("/v1/billing/meter_events", post(meter_event))
                    .with_state(served);
                axum::serve(listener, routes).await.unwrap();
            });
        });
        Self {
            url: format!("http://{}", said.recv().unwrap()),
            told: tokio::sync::Mutex::new(told),
            desk,
        }
    }

    /// The next event about this job.
    pub(crate) async fn hear(&self, job: &str) -> Told {
        let mut told = self.told.lock().await;
        loop {
            let next = told.recv().await.unwrap();
            if next.identifier.starts_with(job) {
                return next;
            }
        }
    }

    pub(crate) fn taken(&self) -> BTreeSet<String> {
        self.desk.taken.lock().unwrap().clone()
    }
}

async fn meter_event(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, axum::Json<Value>) {
    let (status, answer) = desk.answer(&headers, &body);
    let fields = fields(&body);
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    desk.tell
        .send(Told {
            identifier: field("identifier"),
            customer: field("payload[stripe_customer_id]"),
            status,
        })
        .unwrap();
    (StatusCode::from_u16(status).unwrap(), axum::Json(answer))
}

impl Desk {
    fn answer(&self, headers: &HeaderMap, body: &str) -> (u16, Value) {
        let refuse = |status: u16, message: &str| {
            let error = json!({"error": {"type": "invalid_request_error", "message": message}});
            (status, error)
        };
        if let Some(status) = self.bad_days.lock().unwrap().pop_front() {
            return refuse(status, "try again later");
        }
        let header = |name: &str| {
            headers
                .get(name)
                .map_or("", |value| value.to_str().unwrap())
        };
        if header("authorization") != format!("Bearer {SECRET}") {
            return refuse(401, "Invalid API Key provided");
        }
        if header("content-type") != "application/x-www-form-urlencoded" {
            return refuse(400, "the body is no form");
        }
        let mut fields = fields(body);
        let mut take = |name: &str| fields.remove(name).unwrap_or_default();
        let (name, identifier) = (take("event_name"), take("identifier"));
        let (customer, value) = (take("payload[stripe_customer_id]"), take("payload[value]"));
        let timestamp = take("timestamp").parse::<i64>();
        if let Some(unknown) = fields.keys().next() {
            return refuse(400, &format!("Received unknown parameter: {unknown}"));
        }
        if name != METER {
            return refuse(400, "No active meter found for event name");
        }
        if value != "1" || !matches!(timestamp, Ok(1_700_000_000..)) {
            return refuse(400, "Invalid value or timestamp");
        }
        if identifier.is_empty()
            || identifier.len() > 100
            || identifier != header("idempotency-key")
        {
            return refuse(400, "Invalid identifier");
        }
        if customer != CUSTOMER {
            return refuse(400, &format!("No such customer: '{customer}'"));
        }
        if !self.taken.lock().unwrap().insert(identifier.clone()) {
            let message = format!("An event already exists with identifier {identifier}.");
            return refuse(400, &message);
        }
        (200, json!({"object": "billing.meter_event"}))
    }
}

/// A form, with each name at most once.
fn fields(body: &str) -> BTreeMap<String, String> {
    let url = reqwest::Url::parse(&format!("http://form/?{body}")).unwrap();
    url.query_pairs().into_owned().collect()
}
