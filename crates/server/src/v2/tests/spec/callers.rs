//! "Pull", "Push", "Content Discovery" and "Content Management" once more, as a client that knows nothing of the server
//! but what its challenges say: for an administrator, for a plain person and for nobody in particular.

use std::collections::HashMap;

use serde_json::json;

use crate::answer::Answer;
use crate::v2::tests::client::{Door, MANIFEST, basic, sha256};

/// Asks for a token when it is sent for one, and keeps it for the next request of the kind.
struct Visitor<'a> {
    door: &'a Door,
    login: String,
    tokens: HashMap<(String, &'static str), String>,
}

impl<'a> Visitor<'a> {
    fn new(door: &'a Door, key: &str) -> Self {
        Self {
            door,
            // Without a key as well: some clients send an empty login.
            login: basic(if key.is_empty() { "" } else { "me@example.com" }, key),
            tokens: HashMap::new(),
        }
    }

    async fn send(&mut self, method: &'static str, path: &str, body: &[u8]) -> Answer {
        self.send_as(method, path, &[], body).await
    }

    async fn send_as(
        &mut self,
        method: &'static str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let kind = (repository(path), of_a_kind(method));
        let token = self.tokens.get(&kind).cloned().unwrap_or_default();
        let first = self.door.call_as(&token, method, path, headers, body).await;
        if first.status != 401 {
            return first;
        }
        let token = self.token(first.header("WWW-Authenticate").unwrap()).await;
        let second = self.door.call_as(&token, method, path, headers, body).await;
        self.tokens.insert(kind, token);
        second
    }

    async fn token(&self, challenge: &str) -> String {
        let scope = parameter(challenge, "scope").replace(' ', "%20");
        let service = parameter(challenge, "service");
        let path = format!("/v0/auth/oci/token?scope={scope}&service={service}");
        let headers = [("Authorization", self.login.as_str())];
        let answer = self.door.send("GET", &path, &headers, b"").await;
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    /// The answer's status, after one more look when a token was needed.
    async fn status(&mut self, method: &'static str, path: &str) -> u16 {
        self.send(method, path, b"").await.status
    }
}

fn repository(path: &str) -> String {
    path.split('/')
        .skip(2)
        .take(2)
        .collect::<Vec<_>>()
        .join("/")
}

fn of_a_kind(method: &'static str) -> &'static str {
    match method {
        "GET" | "HEAD" => "pull",
        "POST" | "PATCH" | "PUT" => "push",
        other => other,
    }
}

fn parameter<'a>(challenge: &'a str, name: &str) -> &'a str {
    let rest = challenge.split_once(&format!("{name}=\"")).unwrap().1;
    rest.split_once('"').unwrap().0
}

/// From a name that nobody has used to an image, and back to nothing.
async fn life(door: &Door, key: &str, name: &str) {
    let mut visitor = Visitor::new(door, key);
    let at = |rest: &str| format!("/v2/{name}/{rest}");
    let (config, layer) = (b"{}".as_slice(), format!("layer of {name}").into_bytes());
    let (config_digest, layer_digest) = (sha256(config), sha256(&layer));
    let missing = at(&format!("blobs/{layer_digest}"));
    assert_eq!(visitor.status("GET", &at("tags/list")).await, 404);
    let nobody = at(&format!("referrers/{layer_digest}"));
    assert_eq!(visitor.status("GET", &nobody).await, 200);
    assert_eq!(visitor.status("GET", &missing).await, 404);

    let whole = at(&format!("blobs/uploads/?digest={config_digest}"));
    assert_eq!(visitor.send("POST", &whole, config).await.status, 201);
    let started = visitor.send("POST", &at("blobs/uploads/"), b"").await;
    assert_eq!(started.status, 202, "{started:?}");
    let upload = started.header("Location").unwrap().to_owned();
    assert_eq!(visitor.send("PATCH", &upload, &layer).await.status, 202);
    assert_eq!(visitor.status("GET", &upload).await, 204);
    let closed = format!("{upload}?digest={layer_digest}");
    assert_eq!(visitor.send("PUT", &closed, b"").await.status, 201);
    let mounted = format!("/v2/{name}-too/blobs/uploads/?mount={layer_digest}&from={name}");
    assert_eq!(visitor.send("POST", &mounted, b"").await.status, 201);

    let descriptor = |digest, size| json!({"mediaType": "x/y", "digest": digest, "size": size});
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(&config_digest, config.len()),
        "layers": [descriptor(&layer_digest, layer.len())],
    })
    .to_string();
    let digest = sha256(manifest.as_bytes());
    let kind = [("Content-Type", MANIFEST)];
    for reference in [digest.as_str(), "v1"] {
        let path = at(&format!("manifests/{reference}"));
        let pushed = visitor
            .send_as("PUT", &path, &kind, manifest.as_bytes())
            .await;
        assert_eq!(pushed.status, 201, "{pushed:?}");
        assert_eq!(
            visitor.send("GET", &path, b"").await.body,
            manifest.as_bytes()
        );
    }
    let tags = visitor.send("GET", &at("tags/list"), b"").await.json();
    assert_eq!(tags, json!({"name": name, "tags": ["v1"]}));

    for rest in [
        "manifests/v1".to_owned(),
        format!("manifests/{digest}"),
        format!("blobs/{config_digest}"),
        format!("blobs/{layer_digest}"),
    ] {
        assert_eq!(visitor.status("HEAD", &at(&rest)).await, 200, "{rest}");
        assert_eq!(visitor.status("DELETE", &at(&rest)).await, 202, "{rest}");
        assert_eq!(visitor.status("HEAD", &at(&rest)).await, 404, "{rest}");
    }
}

#[tokio::test]
async fn an_administrator_takes_an_image_through_its_life() {
    let door = Door::open().await;
    life(&door, &door.key, "theirs/image").await;
}

#[tokio::test]
async fn a_person_takes_an_image_through_its_life_in_a_project_of_their_own() {
    let door = Door::open().await;
    let key = door.person("somebody").await;
    life(&door, &key, "somebodys/image").await;
}

#[tokio::test]
async fn nobody_in_particular_takes_an_image_through_its_life_in_a_project_that_is_nobodys() {
    let door = Door::open().await;
    life(&door, "", "nobodys/image").await;
}
