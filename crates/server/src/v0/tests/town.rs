//! A server on loopback, and the smallest client that can talk to it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};

use kiln_control::limits::RateLimits;
use kiln_store::{StoreConfig, SystemClock, SystemEntropy};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{Server, ServerConfig, openapi};

pub(super) struct Town {
    address: SocketAddr,
    /// The administrator's key.
    pub(super) key: String,
    pub(super) backups: TempDir,
    _server: Server,
    _runtime: Runtime,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    pub(super) body: Vec<u8>,
}

impl Town {
    /// The server that all tests on `SQLite` share.
    pub(super) fn sqlite() -> &'static Self {
        static TOWN: OnceLock<Town> = OnceLock::new();
        TOWN.get_or_init(|| Self::open("sqlite::memory:"))
    }

    /// The server that all tests on PostgreSQL share.
    pub(super) fn postgres() -> &'static Self {
        static TOWN: OnceLock<Town> = OnceLock::new();
        TOWN.get_or_init(|| Self::open(&kiln_store::testing::postgres_database()))
    }

    pub(super) fn open(database: &str) -> Self {
        Self::open_with(database, RateLimits::default())
    }

    pub(super) fn open_with(database: &str, limits: RateLimits) -> Self {
        let (clock, entropy) = (Arc::new(SystemClock::default()), Arc::new(SystemEntropy));
        let store = StoreConfig {
            objects: "memory:".to_owned(),
            ..StoreConfig::new(database, clock.clone(), entropy.clone())
        };
        let backups = tempfile::tempdir().unwrap();
        let config = ServerConfig {
            limits,
            backups: Some(backups.path().to_owned()),
            ..ServerConfig::new(([127, 0, 0, 1], 0).into(), store)
        };
        let runtime = Runtime::new().unwrap();
        let server = runtime
            .block_on(Server::start(config, clock, entropy))
            .unwrap();
        Self {
            address: server.address(),
            key: server.admin_key().unwrap().to_owned(),
            backups,
            _server: server,
            _runtime: runtime,
        }
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
        let complaint = openapi::tests::complaint(method, path, answer.status, &answer.json());
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
        let body = body.map(Value::to_string).unwrap_or_default();
        let authorization = key
            .map(|key| format!("Authorization: Bearer {key}\r\n"))
            .unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{authorization}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::read(&bytes)
    }

    /// The status of a WebSocket handshake.
    pub(super) fn upgrade(&self, path: &str, key: &str) -> u16 {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {key}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            self.address
        );
        let mut stream = TcpStream::connect(self.address).unwrap();
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
    fn read(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("an answer has a head");
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            status,
            head,
            body: bytes[end + 4..].to_vec(),
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(super) fn total(&self) -> &str {
        self.header("x-total-count").unwrap_or_default()
    }

    pub(super) fn json(&self) -> Value {
        if self.body.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
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
