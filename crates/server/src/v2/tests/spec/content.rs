//! "Definitions": every kind of content goes through every endpoint, by both algorithms.

use kiln_model::{Algorithm, Digest};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256, Sha512};

use crate::v2::tests::client::{Door, MANIFEST};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const ARTIFACT: &str = "application/vnd.example.artifact.v1";

/// Blobs and manifests in the order in which they are pushed. The last manifest gets the tag.
struct Content {
    algorithm: Algorithm,
    blobs: Vec<Vec<u8>>,
    manifests: Vec<Value>,
}

impl Content {
    fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            blobs: Vec::new(),
            manifests: Vec::new(),
        }
    }

    fn blob(&mut self, kind: &str, bytes: &[u8]) -> Value {
        self.blobs.push(bytes.to_vec());
        json!({"mediaType": kind, "digest": hash(self.algorithm, bytes), "size": bytes.len()})
    }

    fn manifest(&mut self, manifest: Value) -> Value {
        let bytes = manifest.to_string();
        let descriptor = json!({
            "mediaType": manifest["mediaType"],
            "digest": hash(self.algorithm, bytes.as_bytes()),
            "size": bytes.len(),
        });
        self.manifests.push(manifest);
        descriptor
    }

    fn image(&mut self, seed: &str) -> Value {
        let manifest = self.unpushed_image(seed);
        self.manifest(manifest)
    }

    fn unpushed_image(&mut self, seed: &str) -> Value {
        let config = self.blob(CONFIG, format!("{{\"author\":\"{seed}\"}}").as_bytes());
        let layer = self.blob(LAYER, format!("layer of {seed}").as_bytes());
        json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]})
    }

    fn index(&mut self, children: &[Value]) -> Value {
        self.manifest(json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": children}))
    }

    /// Pushes, lists, looks at, pulls and deletes all of it.
    async fn check(self, what: &str) {
        let door = Door::open().await;
        for blob in &self.blobs {
            let digest = hash(self.algorithm, blob);
            let path = format!("/v2/spec/repo/blobs/uploads/?digest={digest}");
            let pushed = door.call("POST", &path, &[], blob).await;
            assert_eq!(pushed.status, 201, "{what}: {pushed:?}");
        }
        let mut stored = Vec::new();
        for manifest in &self.manifests {
            let body = manifest.to_string();
            let digest = hash(self.algorithm, body.as_bytes());
            push(&door, what, manifest, &format!("{digest}?tag=v1"), &digest).await;
            stored.push((body, digest));
        }
        let (last, digest) = stored.last().unwrap();
        let listed = door.get("/v2/spec/repo/tags/list").await.json();
        assert_eq!(listed["tags"], json!(["v1"]), "{what}");
        pull(&door, what, "manifests/v1", last.as_bytes(), digest).await;
        for (body, digest) in &stored {
            let path = format!("manifests/{digest}");
            pull(&door, what, &path, body.as_bytes(), digest).await;
        }
        for blob in &self.blobs {
            let digest = hash(self.algorithm, blob);
            pull(&door, what, &format!("blobs/{digest}"), blob, &digest).await;
        }
        remove(&door, what, "manifests/v1").await;
        for (_, digest) in stored.iter().rev() {
            remove(&door, what, &format!("manifests/{digest}")).await;
        }
        let mut blobs = self.blobs;
        blobs.sort();
        blobs.dedup();
        for blob in &blobs {
            let digest = hash(self.algorithm, blob);
            remove(&door, what, &format!("blobs/{digest}")).await;
        }
    }
}

async fn push(door: &Door, what: &str, manifest: &Value, reference: &str, digest: &Digest) {
    let kind = manifest["mediaType"].as_str().unwrap();
    let path = format!("/v2/spec/repo/manifests/{reference}");
    let headers = [("Content-Type", kind)];
    let body = manifest.to_string();
    let pushed = door.call("PUT", &path, &headers, body.as_bytes()).await;
    assert_eq!(pushed.status, 201, "{what}: {pushed:?}");
    assert_eq!(
        pushed.header("Docker-Content-Digest"),
        Some(digest.as_str()),
        "{what}"
    );
    assert_eq!(
        pushed.header("OCI-Subject"),
        manifest["subject"]["digest"].as_str(),
        "{what}"
    );
    assert_eq!(pushed.header("OCI-Tag"), Some("v1"), "{what}");
    let at = pushed.header("Location").unwrap();
    assert_eq!(door.get(at).await.body, body.as_bytes(), "{what}");
}

async fn pull(door: &Door, what: &str, path: &str, bytes: &[u8], digest: &Digest) {
    let path = format!("/v2/spec/repo/{path}");
    for (method, body) in [("GET", bytes), ("HEAD", b"")] {
        let answer = door.call(method, &path, &[], b"").await;
        assert_eq!(answer.status, 200, "{what}: {method} {path}");
        assert_eq!(answer.body, body, "{what}: {method} {path}");
        assert_eq!(
            answer.header("Content-Length"),
            Some(bytes.len().to_string().as_str()),
            "{what}: {method} {path}"
        );
        assert_eq!(
            answer.header("Docker-Content-Digest"),
            Some(digest.as_str()),
            "{what}: {method} {path}"
        );
    }
}

async fn remove(door: &Door, what: &str, path: &str) {
    let path = format!("/v2/spec/repo/{path}");
    let deleted = door.call("DELETE", &path, &[], b"").await;
    assert_eq!(deleted.status, 202, "{what}: {path} {deleted:?}");
    for method in ["HEAD", "GET", "DELETE"] {
        let answer = door.call(method, &path, &[], b"").await;
        assert_eq!(answer.status, 404, "{what}: {method} {path}");
    }
}

fn hash(algorithm: Algorithm, bytes: &[u8]) -> Digest {
    match algorithm {
        Algorithm::Sha256 => Digest::from_hash(&Sha256::digest(bytes)).unwrap(),
        Algorithm::Sha512 => Digest::from_hash(&Sha512::digest(bytes)).unwrap(),
    }
}

/// One behaviour for every kind of content: what was pushed comes back, and is gone after it was deleted.
async fn check(what: &str, build: impl Fn(&mut Content)) {
    for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
        let mut content = Content::new(algorithm);
        build(&mut content);
        content
            .check(&format!("{what} by {}", algorithm.name()))
            .await;
    }
}

#[tokio::test]
async fn an_image() {
    check("an image", |content| drop(content.image("a"))).await;
}

#[tokio::test]
async fn an_image_whose_manifest_is_large() {
    check("a large manifest", |content| {
        let mut manifest = content.unpushed_image("large");
        let notes = (0..390).map(|number| (format!("note-{number}"), "A".repeat(10_000).into()));
        manifest["annotations"] = Value::Object(notes.collect());
        content.manifest(manifest);
    })
    .await;
}

#[tokio::test]
async fn an_index_and_an_index_of_indexes() {
    check("nested indexes", |content| {
        let images = [content.image("a"), content.image("b")];
        let inner = content.index(&images);
        let others = [content.image("c"), content.image("d")];
        let other = content.index(&others);
        content.index(&[inner, other]);
    })
    .await;
}

#[tokio::test]
async fn the_manifest_and_the_list_of_docker() {
    const DOCKER: &str = "application/vnd.docker";
    check("docker's formats", |content| {
        let children: Vec<Value> = ["a", "b"]
            .iter()
            .map(|seed| {
                let config = format!("{DOCKER}.container.image.v1+json");
                let config = content.blob(&config, format!("{{\"of\":\"{seed}\"}}").as_bytes());
                let layer = format!("{DOCKER}.image.rootfs.diff.tar.gzip");
                let layer = content.blob(&layer, format!("layer of {seed}").as_bytes());
                let kind = format!("{DOCKER}.distribution.manifest.v2+json");
                content.manifest(json!({
                    "schemaVersion": 2, "mediaType": kind, "config": config, "layers": [layer],
                }))
            })
            .collect();
        let kind = format!("{DOCKER}.distribution.manifest.list.v2+json");
        content.manifest(json!({"schemaVersion": 2, "mediaType": kind, "manifests": children}));
    })
    .await;
}

#[tokio::test]
async fn an_index_of_nothing() {
    check("an empty index", |content| drop(content.index(&[]))).await;
}

#[tokio::test]
async fn artifacts_with_and_without_layers() {
    check("artifacts", |content| {
        let config = content.blob(EMPTY, b"{}");
        let layer = content.blob(ARTIFACT, b"an artifact");
        for layers in [json!([layer]), json!([config]), json!([])] {
            content.manifest(json!({
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "artifactType": ARTIFACT,
                "config": config,
                "layers": layers,
            }));
        }
    })
    .await;
}

#[tokio::test]
async fn an_artifact_whose_subject_is_there_and_one_whose_subject_is_not() {
    check("subjects", |content| {
        let subject = content.image("subject");
        let missing = json!({
            "mediaType": MANIFEST,
            "digest": hash(content.algorithm, b"missing"),
            "size": 123,
        });
        for subject in [subject, missing] {
            let mut referrer = content.unpushed_image("referrer");
            referrer["subject"] = subject.clone();
            content.manifest(referrer);
            content.manifest(json!({
                "schemaVersion": 2,
                "mediaType": INDEX,
                "artifactType": ARTIFACT,
                "manifests": [],
                "subject": subject,
            }));
        }
    })
    .await;
}

#[tokio::test]
async fn descriptors_that_carry_their_data() {
    check("the data field", |content| {
        let mut manifest = content.unpushed_image("data");
        manifest["config"]["data"] = json!("eyJhdXRob3IiOiJkYXRhIn0=");
        content.manifest(manifest);
    })
    .await;
}

#[tokio::test]
async fn layers_that_must_not_be_distributed() {
    check("non-distributable layers", |content| {
        let mut manifest = content.unpushed_image("foreign");
        let kind = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip";
        let layer = json!({
            "mediaType": kind,
            "digest": hash(content.algorithm, b"elsewhere"),
            "size": 123_456,
            "urls": ["https://store.example.com/layer"],
        });
        manifest["layers"].as_array_mut().unwrap().push(layer);
        content.manifest(manifest);
    })
    .await;
}

#[tokio::test]
async fn fields_that_nobody_has_heard_of() {
    check("custom fields", |content| {
        let mut manifest = content.unpushed_image("custom");
        manifest["org.example.field"] = json!({"nested": [1, 2.5, null]});
        manifest["config"]["org.example.field"] = json!("text");
        let image = content.manifest(manifest);
        content.manifest(json!({
            "schemaVersion": 2,
            "mediaType": INDEX,
            "manifests": [image],
            "org.example.field": true,
        }));
    })
    .await;
}

#[tokio::test]
async fn an_image_without_layers_and_a_blob_without_bytes() {
    check("nothing at all", |content| {
        let config = content.blob(CONFIG, b"");
        content.manifest(json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config,
            "layers": [],
        }));
    })
    .await;
}
