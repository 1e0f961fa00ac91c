//! "Pushing manifests": by tag, by digest, with a subject; and what is refused.

use serde_json::json;

use crate::v2::tests::client::{Door, MANIFEST, sha256};

async fn put(door: &Door, reference: &str, body: &str) -> (u16, Option<String>) {
    let path = format!("/v2/spec/repo/manifests/{reference}");
    let kind = [("Content-Type", MANIFEST)];
    let answer = door.call("PUT", &path, &kind, body.as_bytes()).await;
    let digest = answer.header("Docker-Content-Digest").map(str::to_owned);
    (answer.status, digest)
}

#[tokio::test]
async fn end_7_a_tag_moves_to_what_was_pushed_last() {
    let door = Door::open().await;
    for layer in ["one", "two"] {
        let body = door.image("spec/repo", layer).await.to_string();
        let digest = sha256(body.as_bytes());
        let (status, named) = put(&door, "moving", &body).await;
        assert_eq!((status, named.as_deref()), (201, Some(digest.as_str())));
        let tagged = door.get("/v2/spec/repo/manifests/moving").await;
        assert_eq!(tagged.body, body.as_bytes());
    }
}

#[tokio::test]
async fn end_7_what_is_pushed_twice_is_there_once() {
    let door = Door::open().await;
    let body = door.image("spec/repo", "again").await.to_string();
    for _ in 0..2 {
        assert_eq!(put(&door, "again", &body).await.0, 201);
    }
    let listed = door.get("/v2/spec/repo/tags/list").await.json();
    assert_eq!(listed["tags"], json!(["again"]));
}

#[tokio::test]
async fn a_digest_that_the_bytes_do_not_have_is_refused() {
    let door = Door::open().await;
    let body = door.image("spec/repo", "spaces").await.to_string();
    let digest = sha256(body.as_bytes());
    assert_eq!(
        put(&door, digest.as_str(), &format!("{body}  ")).await.0,
        400
    );
    assert_eq!(put(&door, "sha256:baddigeststring", &body).await.0, 400);
    let path = format!("/v2/spec/repo/manifests/{digest}");
    assert_eq!(door.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_manifest_is_not_visible_before_what_it_names() {
    let door = Door::open().await;
    let image = door.image("spec/repo", "layer").await;
    for (part, digest) in [("layers", "sha256"), ("config", "sha512")] {
        let mut sparse = image.clone();
        let missing = if digest == "sha256" {
            sha256(b"missing").to_string()
        } else {
            format!("sha512:{}", "0".repeat(128))
        };
        let descriptor = json!({"mediaType": "x/y", "digest": missing, "size": 7});
        sparse[part] = if part == "layers" {
            json!([descriptor])
        } else {
            descriptor
        };
        let body = sparse.to_string();
        assert_eq!(put(&door, "sparse", &body).await.0, 404, "{part}");
        let path = "/v2/spec/repo/manifests/sparse";
        assert_eq!(door.get(path).await.status, 404, "{part}");
    }
}

#[tokio::test]
async fn four_mebibytes_are_taken_and_no_more() {
    let door = Door::open().await;
    let body = door.image("spec/repo", "padding").await.to_string();
    let padding = |size: usize| body.clone() + &" ".repeat(size - body.len());
    let most = 4 * 1024 * 1024;
    assert_eq!(put(&door, "most", &padding(most)).await.0, 201);
    assert_eq!(put(&door, "more", &padding(most + 1)).await.0, 413);
}
