//! "Content management": deleting tags, manifests and blobs.

use serde_json::json;

use crate::v2::tests::client::{Door, MANIFEST, sha256};

async fn delete(door: &Door, path: &str) -> u16 {
    door.call("DELETE", &format!("/v2/spec/repo/{path}"), &[], b"")
        .await
        .status
}

#[tokio::test]
async fn end_9_a_tag_goes_and_its_manifest_stays() {
    let door = Door::open().await;
    let digest = door.push_image("spec/repo", "v1").await;
    assert_eq!(delete(&door, "manifests/v1").await, 202);
    assert_eq!(delete(&door, "manifests/v1").await, 404);
    let path = format!("/v2/spec/repo/manifests/{digest}");
    assert_eq!(door.get(&path).await.status, 200);
    let listed = door.get("/v2/spec/repo/tags/list").await.json();
    assert_eq!(listed["tags"], json!([]));
}

#[tokio::test]
async fn end_9_a_manifest_goes_with_all_its_tags_and_from_the_referrers() {
    let door = Door::open().await;
    let subject = sha256(b"subject");
    let mut image = door.image("spec/repo", "layer").await;
    image["subject"] = json!({"mediaType": MANIFEST, "digest": subject, "size": 7});
    let body = image.to_string();
    let digest = sha256(body.as_bytes());
    let path = format!("/v2/spec/repo/manifests/{digest}?tag=a&tag=b");
    let kind = [("Content-Type", MANIFEST)];
    door.call("PUT", &path, &kind, body.as_bytes()).await;
    assert_eq!(delete(&door, &format!("manifests/{digest}")).await, 202);
    let listed = door.get("/v2/spec/repo/tags/list").await.json();
    assert_eq!(listed["tags"], json!([]));
    let path = format!("/v2/spec/repo/referrers/{subject}");
    assert_eq!(door.get(&path).await.json()["manifests"], json!([]));
}

#[tokio::test]
async fn end_10_a_blob_goes_once_no_manifest_names_it() {
    let door = Door::open().await;
    let digest = door.push_image("spec/repo", "v1").await;
    let layer = format!("blobs/{}", sha256(b"v1"));
    assert_eq!(delete(&door, &layer).await, 405);
    assert_eq!(delete(&door, &format!("manifests/{digest}")).await, 202);
    assert_eq!(delete(&door, &layer).await, 202);
    assert_eq!(delete(&door, &layer).await, 404);
}

#[tokio::test]
async fn what_was_deleted_can_be_pushed_again() {
    let door = Door::open().await;
    for _ in 0..2 {
        let digest = door.push_image("spec/repo", "v1").await;
        assert_eq!(delete(&door, &format!("manifests/{digest}")).await, 202);
        assert_eq!(
            delete(&door, &format!("blobs/{}", sha256(b"v1"))).await,
            202
        );
    }
}
