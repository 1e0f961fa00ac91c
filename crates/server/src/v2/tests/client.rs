//! A server on loopback, and the smallest client that can talk to it.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kiln_model::Digest;
use kiln_store::sql::project;
use kiln_store::{Store, StoreConfig, SystemClock, SystemEntropy};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::answer::Answer;
use crate::app::{App, Shared};
use crate::first_start;
use crate::token::{Action, Audience, OciScope};

pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

pub(super) struct Door {
    pub(super) app: Shared,
    /// The administrator's key.
    pub(super) key: String,
    address: SocketAddr,
    listening: JoinHandle<()>,
}

impl Door {
    pub(super) async fn open() -> Self {
        Self::open_on("sqlite::memory:").await
    }

    pub(super) async fn open_on(database: &str) -> Self {
        let (clock, entropy) = (Arc::new(SystemClock::default()), Arc::new(SystemEntropy));
        let config = StoreConfig {
            objects: "memory:".to_owned(),
            ..StoreConfig::new(database, clock.clone(), entropy.clone())
        };
        let open = {
            let (clock, entropy) = (clock.clone(), entropy.clone());
            move || {
                let store = Store::open(&config).unwrap();
                let key = first_start::admin(&store, &*clock, &*entropy).unwrap();
                (store, key.unwrap())
            }
        };
        let (store, key) = tokio::task::spawn_blocking(open).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Arc::new(App::at(address, store, clock, entropy));
        let routes = super::super::routes().merge(crate::v0::routes());
        let routes: Router = routes.with_state(Arc::clone(&app));
        let listening = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            app,
            key,
            address,
            listening,
        }
    }

    /// Sends a request and reads the answer until the server closes the connection.
    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            self.address
        );
        for (name, value) in headers {
            request.extend([name, ": ", value, "\r\n"]);
        }
        request.extend(["Content-Length: ", &body.len().to_string(), "\r\n\r\n"]);
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        // A server that refuses early may close before it has read everything.
        drop(stream.write_all(body).await);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        Answer::read(&bytes)
    }

    /// Begins a request of `length` bytes, sends some of them, and goes away; returns when the server has noticed.
    pub(super) async fn abandon(&self, method: &str, path: &str, length: usize, sent: &[u8]) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {length}\r\n\r\n",
            self.address, self.key
        );
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(sent).await.unwrap();
        stream.shutdown().await.unwrap();
        // Whatever the server says, the end of it comes after it gave the request up.
        drop(stream.read_to_end(&mut Vec::new()).await);
    }

    /// As the holder of the administrator's key.
    pub(super) async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        self.call_as(&self.key, method, path, headers, body).await
    }

    pub(super) async fn call_as(
        &self,
        credential: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let bearer = format!("Bearer {credential}");
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend_from_slice(headers);
        self.send(method, path, &all, body).await
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], b"").await
    }

    /// Fetches a token the way docker does.
    pub(super) async fn token(&self, scope: &str) -> String {
        self.token_of(Some(&self.key), scope).await
    }

    /// The same with somebody else's key, or none.
    pub(super) async fn token_of(&self, key: Option<&str>, scope: &str) -> String {
        let path = format!("/v0/auth/oci/token?service=x&scope={scope}");
        let login = key.map(|key| basic("me@example.com", key));
        let headers = login
            .as_ref()
            .map(|login| ("Authorization", login.as_str()));
        let answer = self.send("GET", &path, headers.as_slice(), b"").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    /// A token as a runner gets it with a job.
    pub(super) fn runner_token(&self, repository: &str) -> String {
        let scope = OciScope {
            repository: Some(repository.to_owned()),
            actions: vec![Action::Pull],
        };
        self.app.tokens.sign(
            Audience::Runner,
            "runner".to_owned(),
            Some(scope),
            self.app.clock.wall(),
            60,
        )
    }

    /// Asks at the other door; the answer must have this status.
    pub(super) async fn ask(
        &self,
        key: &str,
        method: &str,
        path: &str,
        body: &Value,
        status: u16,
    ) -> Value {
        let body = body.to_string();
        let answer = self.call_as(key, method, path, &[], body.as_bytes()).await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        answer.json()
    }

    /// A new person's key.
    pub(super) async fn person(&self, slug: &str) -> String {
        let new = json!({"name": slug, "slug": slug, "email": format!("{slug}@example.com")});
        self.ask(&self.key, "POST", "/v0/users", &new, 201).await;
        let (path, new) = (format!("/v0/users/{slug}/keys"), json!({"name": "key"}));
        let made = self.ask(&self.key, "POST", &path, &new, 201).await;
        made["key"].as_str().unwrap().to_owned()
    }

    pub(super) async fn push_blob(&self, name: &str, bytes: &[u8]) -> Digest {
        let digest = sha256(bytes);
        let pushed = self
            .call(
                "POST",
                &format!("/v2/{name}/blobs/uploads/?digest={digest}"),
                &[],
                bytes,
            )
            .await;
        assert_eq!(pushed.status, 201, "{pushed:?}");
        digest
    }

    /// Pushes an image of two blobs under a tag.
    pub(super) async fn push_image(&self, name: &str, tag: &str) -> Digest {
        let body = self.image(name, tag).await.to_string();
        let path = format!("/v2/{name}/manifests/{tag}");
        let pushed = self
            .call("PUT", &path, &[("Content-Type", MANIFEST)], body.as_bytes())
            .await;
        assert_eq!(pushed.status, 201, "{pushed:?}");
        sha256(body.as_bytes())
    }

    /// A manifest whose blobs are there.
    pub(super) async fn image(&self, name: &str, layer: &str) -> Value {
        let config = self.push_blob(name, b"{}").await;
        let layer = self.push_blob(name, layer.as_bytes()).await;
        let descriptor =
            |digest| json!({"mediaType": "application/octet-stream", "digest": digest, "size": 2});
        json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(config),
            "layers": [descriptor(layer)],
        })
    }

    pub(super) async fn project_uuid(&self, slug: &'static str) -> Option<String> {
        let found: Result<_, kiln_store::Error> = self
            .app
            .store
            .reader
            .read(move |query| project::find_by_ref(query, slug))
            .await;
        found.unwrap().map(|project| project.uuid.to_string())
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Answer {
    /// A refusal with this status and code.
    #[track_caller]
    pub(super) fn expect(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.json()["errors"][0]["code"], code);
    }
}

pub(super) fn sha256(bytes: &[u8]) -> Digest {
    Digest::from_hash(&Sha256::digest(bytes)).unwrap()
}

pub(super) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}
