//! A server, or two that share a database, and what tests need to talk to them.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use kiln_server::{Server, ServerConfig};
use kiln_store::{StoreConfig, SystemClock, SystemEntropy};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::pair::{Attempt, Open};
use crate::ways::Ways;

/// An image by its digest, which nobody looks up.
pub(crate) const IMAGE: &str =
    "image@sha256:abababababababababababababababababababababababababababababababab";
pub(crate) const BMF: &str =
    r#"{"adder": {"latency": {"value": 88.0, "lower_value": 87.42, "upper_value": 88.88}}}"#;

#[derive(Debug)]
pub(crate) struct Town {
    doors: Doors,
    pub(crate) admin: String,
    /// What clients are told to call it.
    pub(crate) public_url: String,
}

#[derive(Debug)]
enum Doors {
    One(String),
    Two(Arc<Attempt>),
}

/// Where something is opened, until it is closed.
#[derive(Debug)]
pub(crate) enum Door {
    One(String),
    OneOfTwo(Open),
}

impl Door {
    pub(crate) fn url(&self) -> &str {
        match self {
            Self::One(url) => url,
            Self::OneOfTwo(open) => &open.url,
        }
    }
}

/// A project with a spec of its own and a runner for it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) project: String,
    pub(crate) spec: String,
    pub(crate) runner: String,
    pub(crate) key: String,
    /// From where its strangers come.
    pub(crate) address: Ipv4Addr,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) total: Option<String>,
    pub(crate) body: Value,
}

impl Town {
    pub(crate) const fn of_two(attempt: Arc<Attempt>, admin: String, public_url: String) -> Self {
        Self {
            doors: Doors::Two(attempt),
            admin,
            public_url,
        }
    }

    /// Every door there is. As long as they are held, no server goes down without the test noticing: for tests of what a
    /// server keeps to itself.
    pub(crate) fn every_door(&self) -> Vec<Door> {
        match &self.doors {
            Doors::One(url) => vec![Door::One(url.clone())],
            Doors::Two(attempt) => attempt.open_both().map(Door::OneOfTwo).into(),
        }
    }

    pub(crate) fn door(&self) -> Door {
        match &self.doors {
            Doors::One(url) => Door::One(url.clone()),
            Doors::Two(attempt) => Door::OneOfTwo(attempt.open()),
        }
    }

    /// A server on a thread of its own, which lives as long as the process.
    pub(crate) fn start(database: &str, ways: Ways) -> Self {
        install_crypto();
        let database = database.to_owned();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async move {
                let clock = Arc::new(SystemClock::new());
                let entropy = Arc::new(SystemEntropy);
                let mut store = StoreConfig::new(database, clock.clone(), entropy.clone());
                "memory:".clone_into(&mut store.objects);
                let config = ways.of(ServerConfig::new(([127, 0, 0, 1], 0).into(), store));
                let server = Server::start(config, clock, entropy).await.unwrap();
                let admin = server.admin_key().unwrap().to_owned();
                let town = Self {
                    doors: Doors::One(format!("http://{}", server.address())),
                    public_url: server.public_url().to_owned(),
                    admin,
                };
                tell.send(town).unwrap();
                std::future::pending::<()>().await;
            });
        });
        told.recv().unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(reqwest::Method::GET, path, Some(&self.admin), None)
            .await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(reqwest::Method::POST, path, Some(&self.admin), Some(body))
            .await
    }

    pub(crate) async fn send(
        &self,
        method: reqwest::Method,
        path: &str,
        key: Option<&str>,
        body: Option<Value>,
    ) -> Answer {
        let door = self.door();
        let mut request = reqwest::Client::new().request(method, format!("{}{path}", door.url()));
        if let Some(key) = key {
            request = request.header(AUTHORIZATION, format!("Bearer {key}"));
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        Self::answer(request).await
    }

    /// A run that somebody submits who does not say who they are.
    pub(crate) async fn submit_as_a_stranger(&self, place: &Place, job: Value) -> Answer {
        let door = self.door();
        let request = reqwest::Client::new()
            .post(format!("{}/v0/run", door.url()))
            .header("X-Forwarded-For", place.address.to_string())
            .json(&run(place, job));
        Self::answer(request).await
    }

    async fn answer(request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let total = response.headers().get("x-total-count");
        Answer {
            status: response.status().as_u16(),
            total: total.map(|total| total.to_str().unwrap().to_owned()),
            body: serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or(Value::Null),
        }
    }

    /// What operators see, of one server after the other.
    pub(crate) async fn metrics(&self) -> String {
        let mut all = String::new();
        for door in self.every_door() {
            let answer = reqwest::get(format!("{}/metrics", door.url())).await;
            all += &answer.unwrap().text().await.unwrap();
        }
        all
    }

    pub(crate) async fn place(&self) -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let spec = self.spec(&format!("spec-{number}")).await;
        let (runner, key) = self.runner(&format!("runner-{number}"), &spec).await;
        Place {
            project: format!("project-{number}"),
            spec,
            runner,
            key,
            address: Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 0).to_bits() + number),
        }
    }

    pub(crate) async fn spec(&self, name: &str) -> String {
        let body = json!({
            "name": name, "os": "linux", "architecture": "x86_64",
            "cpu": 1, "memory": 1_073_741_824_u64, "disk": 1_073_741_824_u64,
        });
        let made = self.post("/v0/specs", body).await;
        assert_eq!(made.status, 201, "{made:?}");
        name.to_owned()
    }

    pub(crate) async fn runner(&self, name: &str, spec: &str) -> (String, String) {
        let made = self.post("/v0/runners", json!({ "name": name })).await;
        assert_eq!(made.status, 201, "{made:?}");
        let linked = self
            .post(
                &format!("/v0/runners/{name}/specs"),
                json!({ "spec": spec }),
            )
            .await;
        assert_eq!(linked.status, 201, "{linked:?}");
        (name.to_owned(), text(&made.body["key"]))
    }

    /// The same place with a runner beside its own, for this spec.
    pub(crate) async fn another_runner(&self, place: &Place, spec: &str) -> Place {
        let name = format!("{}-too", place.runner);
        let (runner, key) = self.runner(&name, spec).await;
        Place {
            runner,
            key,
            ..place.clone()
        }
    }

    /// Submits a run of `place`, with more fields in `job`, and answers the job's UUID.
    pub(crate) async fn submit(&self, place: &Place, job: Value) -> String {
        let answer = self.post("/v0/run", run(place, job)).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        text(&answer.body["job"])
    }

    pub(crate) async fn job(&self, place: &Place, job: &str) -> Value {
        let answer = self
            .get(&format!("/v0/projects/{}/jobs/{job}", place.project))
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    pub(crate) async fn cancel(&self, place: &Place, job: &str) -> Answer {
        let path = format!("/v0/projects/{}/jobs/{job}/cancel", place.project);
        self.post(&path, Value::Null).await
    }

    /// Reads the live feed of a job until the event of that name; answers the names of all events up to it.
    pub(crate) async fn until(&self, place: &Place, job: &str, event: &str) -> Vec<String> {
        let mut feed = self.feed(place, job, None).await;
        let mut seen = Vec::new();
        loop {
            let (_, name) = feed
                .next()
                .await
                .unwrap_or_else(|| panic!("the feed ended before {event}, after {seen:?}"));
            seen.push(name);
            if seen.last().is_some_and(|last| last == event) {
                return seen;
            }
        }
    }

    pub(crate) async fn feed(&self, place: &Place, job: &str, last: Option<&str>) -> Feed {
        let path = format!("/v0/projects/{}/jobs/{job}/events", place.project);
        self.feed_at(&path, last).await
    }

    pub(crate) async fn feed_at(&self, path: &str, last: Option<&str>) -> Feed {
        let door = self.door();
        let mut request = reqwest::Client::new()
            .get(format!("{}{path}", door.url()))
            .header(AUTHORIZATION, format!("Bearer {}", self.admin))
            .header(ACCEPT, "text/event-stream");
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        Feed {
            response,
            buffer: String::new(),
            _door: door,
        }
    }

    pub(crate) async fn channel(&self, place: &Place) -> Channel {
        let path = format!("/v0/runners/{}/channel", place.runner);
        self.dial(&path, &place.key).await.unwrap()
    }

    pub(crate) async fn dial(&self, path: &str, key: &str) -> Result<Channel, Error> {
        Ok(self.dialed(path, key).await?.0)
    }

    /// The headers with which the server opens a channel.
    pub(crate) async fn greeting(&self, path: &str, key: &str) -> HeaderMap {
        self.dialed(path, key).await.unwrap().1
    }

    async fn dialed(&self, path: &str, key: &str) -> Result<(Channel, HeaderMap), Error> {
        let door = self.door();
        let url = format!("{}{path}", door.url().replacen("http", "ws", 1));
        let mut request = url.into_client_request()?;
        request
            .headers_mut()
            .insert(AUTHORIZATION, format!("Bearer {key}").parse().unwrap());
        let (socket, answer) = connect_async(request).await?;
        let channel = Channel {
            socket,
            _door: door,
        };
        Ok((channel, answer.headers().clone()))
    }

    /// A channel that has just been given the job it asked for.
    pub(crate) async fn assigned(&self, place: &Place) -> (Channel, String) {
        let mut channel = self.channel(place).await;
        channel.say(json!({"event": "ready"})).await;
        let job = channel.hear().await;
        assert_eq!(job["event"], "job", "{job}");
        (channel, text(&job["uuid"]))
    }

    /// A job that runs, and the channel it runs on.
    pub(crate) async fn running(&self, place: &Place) -> (Channel, String) {
        self.submit(place, json!({})).await;
        let (mut channel, job) = self.assigned(place).await;
        channel.say(json!({"event": "running"})).await;
        assert_eq!(channel.hear().await, ack(&job));
        (channel, job)
    }
}

/// The client insists on one, though nothing here is encrypted; a second call finds it installed.
pub(crate) fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Server-sent events: id and name.
#[derive(Debug)]
pub(crate) struct Feed {
    response: reqwest::Response,
    buffer: String,
    _door: Door,
}

impl Feed {
    pub(crate) async fn next(&mut self) -> Option<(String, String)> {
        loop {
            if let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let field = |name: &str| {
                    let line = block.lines().find_map(|line| line.strip_prefix(name))?;
                    Some(line.trim_start_matches(':').trim().to_owned())
                };
                let found = field("id").zip(field("event"));
                self.buffer = rest.to_owned();
                if found.is_some() {
                    return found;
                }
                continue;
            }
            let chunk = self.response.chunk().await.unwrap()?;
            self.buffer.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

/// A server that says nothing for so long says nothing at all.
const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    _door: Door,
}

impl Channel {
    pub(crate) async fn say(&mut self, message: Value) {
        self.send(Message::text(message.to_string())).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: Message) -> Result<(), Error> {
        self.socket.send(message).await
    }

    /// The server's next word.
    pub(crate) async fn hear(&mut self) -> Value {
        loop {
            match self.next().await.expect("the channel is open").unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other @ (Message::Binary(_) | Message::Close(_) | Message::Frame(_)) => {
                    panic!("{other:?} is no word")
                }
            }
        }
    }

    async fn next(&mut self) -> Option<Result<Message, Error>> {
        let next = timeout(PATIENCE, self.socket.next()).await;
        next.expect("the server says something or hangs up")
    }

    /// How the server ends the connection: with a frame, or without one. Words before that are passed over.
    pub(crate) async fn end(&mut self) -> Option<CloseFrame> {
        loop {
            match self.next().await {
                Some(Ok(Message::Close(frame))) => return frame,
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }
}

pub(crate) fn run(place: &Place, job: Value) -> Value {
    let mut whole = json!({"image": IMAGE, "spec": place.spec});
    let Value::Object(fields) = job else {
        panic!("{job} has no fields");
    };
    for (field, value) in fields {
        whole[field] = value;
    }
    json!({
        "project": place.project, "branch": "main", "testbed": "tb",
        "start_time": "2026-11-15T08:16:16Z", "end_time": "2026-11-15T08:16:16Z",
        "results": [], "settings": {"adapter": "json"}, "job": whole,
    })
}

pub(crate) fn completed(job: &str) -> Value {
    json!({"event": "completed", "job": job, "results": [{"exit_code": 0, "stdout": BMF}]})
}

pub(crate) fn ack(job: &str) -> Value {
    json!({"event": "ack", "job": job})
}

pub(crate) fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
        .to_owned()
}
