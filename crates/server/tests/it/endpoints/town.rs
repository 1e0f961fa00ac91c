//! A server, or two, and the smallest client that can talk to them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};

use kiln_store::testing::postgres_database;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::contract;
use crate::pair::{Pair, Spared};
use crate::towns::MEMORY;
use crate::ways::Ways;

pub(super) struct Town {
    servers: Servers,
    /// The administrator's key.
    pub(super) key: String,
    /// What it says about itself.
    document: Value,
}

enum Servers {
    One(String),
    Two(Arc<Pair>),
}

/// Where a request goes.
pub(super) enum Door<'a> {
    One(&'a str),
    OneOfTwo(Spared),
}

impl Door<'_> {
    fn address(&self) -> &str {
        let url = match self {
            Self::One(url) => url,
            Self::OneOfTwo(spared) => spared.url.as_str(),
        };
        url.trim_start_matches("http://")
    }
}

/// All of these may be asked for a backup, if there were anything to copy.
fn ways() -> Ways {
    Ways {
        backups: Some(tempfile::tempdir().unwrap().keep()),
        ..Ways::default()
    }
}

impl Town {
    /// The server that all tests on `SQLite` share.
    pub(super) fn sqlite() -> &'static Self {
        static TOWN: OnceLock<Town> = OnceLock::new();
        TOWN.get_or_init(|| Self::open(MEMORY, ways()))
    }

    /// The server that all tests on PostgreSQL share.
    pub(super) fn postgres() -> &'static Self {
        static TOWN: OnceLock<Town> = OnceLock::new();
        TOWN.get_or_init(|| Self::open(&postgres_database(), ways()))
    }

    /// The servers that all tests on two share.
    pub(super) fn two_servers() -> &'static Self {
        static TOWN: OnceLock<Town> = OnceLock::new();
        TOWN.get_or_init(|| Self::open_two(ways()))
    }

    pub(super) fn open(database: &str, ways: Ways) -> Self {
        let town = crate::town::Town::start(database, ways);
        let servers = Servers::One(town.door().url().to_owned());
        Self::that_says_what_it_is(servers, town.admin)
    }

    pub(super) fn open_two(ways: Ways) -> Self {
        let pair = Pair::start(ways);
        let key = pair.admin.clone();
        Self::that_says_what_it_is(Servers::Two(pair), key)
    }

    fn that_says_what_it_is(servers: Servers, key: String) -> Self {
        let mut town = Self {
            servers,
            key,
            document: Value::Null,
        };
        let path = "/v0/server/spec";
        town.document = town.raw("GET", path, Some(&town.key), None).json();
        town
    }

    fn door(&self) -> Door<'_> {
        match &self.servers {
            Servers::One(url) => Door::One(url),
            Servers::Two(pair) => Door::OneOfTwo(pair.spare()),
        }
    }

    /// As long as these are held, no server forgets what it counted.
    pub(super) fn every_door(&self) -> Vec<Door<'_>> {
        match &self.servers {
            Servers::One(url) => vec![Door::One(url)],
            Servers::Two(pair) => pair.spare_both().map(Door::OneOfTwo).into(),
        }
    }

    /// What operators see behind these doors, one after the other.
    pub(super) fn metrics(doors: &[Door<'_>]) -> String {
        let asked = |door| Self::ask(door, "GET", "/metrics", None, None).body;
        let texts: Vec<_> = doors.iter().map(asked).collect();
        String::from_utf8(texts.concat()).unwrap()
    }

    /// Sends a request to the bench door; the answer is one that the `OpenAPI` document knows.
    pub(super) fn send(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        let answer = self.raw(method, path, key, body);
        let said = (answer.status, &answer.json());
        let complaint = contract::complaint(&self.document, (method, path), said);
        assert_eq!(complaint, None, "the OpenAPI document says otherwise");
        answer
    }

    pub(super) fn status(&self, method: &str, path: &str) -> u16 {
        self.raw(method, path, None, None).status
    }

    /// Sends a request and reads the answer until the server closes the connection.
    pub(super) fn raw(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        Self::ask(&self.door(), method, path, key, body)
    }

    fn ask(
        door: &Door<'_>,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        let authorization = key
            .map(|key| format!("Authorization: Bearer {key}\r\n"))
            .unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{authorization}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            door.address(),
            body.len()
        );
        let mut stream = TcpStream::connect(door.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::read(&bytes)
    }

    /// The status of a WebSocket handshake.
    pub(super) fn upgrade(&self, path: &str, key: &str) -> u16 {
        let door = self.door();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {key}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            door.address()
        );
        let mut stream = TcpStream::connect(door.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut line = [0; 12];
        stream.read_exact(&mut line).unwrap();
        std::str::from_utf8(&line[9..]).unwrap().parse().unwrap()
    }

    /// As the administrator.
    pub(super) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, Some(&self.key), None)
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(&self.key), Some(body))
    }

    pub(super) fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, Some(&self.key), Some(body))
    }

    pub(super) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, Some(&self.key), None)
    }

    /// A new person, and their key.
    pub(super) fn person(&self, slug: &str) -> String {
        let new = json!({"name": slug, "slug": slug, "email": format!("{slug}@example.com")});
        self.post("/v0/users", &new).expect(201);
        let made = self.post(&format!("/v0/users/{slug}/keys"), &json!({"name": "key"}));
        made.expect(201)["key"].as_str().unwrap().to_owned()
    }

    /// An organization of the person, with a project of the same slug in it.
    pub(super) fn project(&self, key: &str, slug: &str, visibility: &str) {
        let new = json!({"name": slug, "slug": slug});
        self.send("POST", "/v0/organizations", Some(key), Some(&new))
            .expect(201);
        let new = json!({"name": slug, "slug": slug, "visibility": visibility});
        let path = format!("/v0/organizations/{slug}/projects");
        self.send("POST", &path, Some(key), Some(&new)).expect(201);
    }

    pub(super) fn spec(&self, slug: &str) -> Value {
        let new = json!({
            "name": slug, "slug": slug, "os": "linux", "architecture": "x86_64",
            "cpu": 1, "memory": 1024, "disk": 2048,
        });
        self.post("/v0/specs", &new).expect(201)
    }

    pub(super) fn runner(&self, slug: &str) -> Value {
        self.post("/v0/runners", &json!({"name": slug})).expect(201)
    }
}

impl Answer {
    pub(super) fn total(&self) -> &str {
        self.header("x-total-count").unwrap_or_default()
    }

    /// The body, if the status is this one. Refusals have the shape that stock clients read.
    #[track_caller]
    pub(super) fn expect(&self, status: u16) -> Value {
        let body = self.json();
        assert_eq!(self.status, status, "{body}");
        if status >= 400 {
            assert!(body["message"].is_string(), "{body}");
            assert_eq!(
                body["request_id"].as_str(),
                self.header("x-request-id"),
                "{body}"
            );
        }
        body
    }
}
