use serde_json::json;

use super::client::{Door, sha256};

#[tokio::test]
async fn tricks_in_paths_are_named_and_refused() {
    let door = Door::open().await;
    let long = format!("/v2/{}/tags/list", "a/".repeat(200) + "a");
    for path in [
        "/v2/../tags/list",
        "/v2/p/../q/tags/list",
        "/v2/p%2fq/tags/list",
        "/v2/p/%2e%2e/tags/list",
        "/v2/p//tags/list",
        "/v2/UPPER/tags/list",
        "/v2/p%00/tags/list",
        long.as_str(),
    ] {
        door.get(path).await.expect(400, "NAME_INVALID");
    }
    for path in [
        "/v2/p/blobs/sha256:..",
        "/v2/p/blobs/md5:abc",
        "/v2/p/manifests/sha256:%2e%2e",
    ] {
        door.get(path).await.expect(400, "DIGEST_INVALID");
    }
    for path in ["/v2/_catalog", "/v2/p", "/v2/p/blobs"] {
        door.get(path).await.expect(404, "UNSUPPORTED");
    }
    door.get("/v2/p/blobs/uploads/..")
        .await
        .expect(404, "BLOB_UPLOAD_UNKNOWN");
}

#[tokio::test]
async fn a_method_that_a_path_does_not_know_is_refused() {
    let door = Door::open().await;
    for (method, path) in [
        ("POST", "/v2/p/tags/list"),
        ("PATCH", "/v2/p/manifests/v1"),
        ("GET", "/v2/p/blobs/uploads/"),
        (
            "POST",
            "/v2/p/blobs/uploads/01890000-0000-4000-8000-000000000000",
        ),
    ] {
        door.call(method, path, &[], b"")
            .await
            .expect(405, "UNSUPPORTED");
    }
}

#[tokio::test]
async fn an_upload_of_another_repository_is_unknown() {
    let door = Door::open().await;
    let start = door.call("POST", "/v2/p/a/blobs/uploads/", &[], b"").await;
    let id = start.header("Docker-Upload-UUID").unwrap();
    door.push_image("p", "v1").await;
    for (method, body) in [("GET", b"".as_slice()), ("PATCH", b"x"), ("DELETE", b"")] {
        let answer = door
            .call(method, &format!("/v2/p/blobs/uploads/{id}"), &[], body)
            .await;
        answer.expect(404, "BLOB_UPLOAD_UNKNOWN");
    }
}

#[tokio::test]
async fn an_upload_that_is_cut_off_leaves_nothing() {
    let door = Door::open().await;
    let start = door.call("POST", "/v2/p/blobs/uploads/", &[], b"").await;
    let at = start.header("Location").unwrap();
    door.abandon("PATCH", at, 1_000, b"half of it").await;
    assert_eq!(door.get(at).await.header("Range"), Some("0-0"));
    let digest = sha256(b"half of it");
    let put = format!("{at}?digest={digest}");
    door.abandon("PUT", &put, 1_000, b"half of it").await;
    door.get(&format!("/v2/p/blobs/{digest}"))
        .await
        .expect(404, "BLOB_UNKNOWN");
    assert_eq!(door.call("PUT", &put, &[], b"half of it").await.status, 201);
}

#[tokio::test]
async fn an_index_names_only_what_is_there_so_none_can_loop() {
    let door = Door::open().await;
    let kind = "application/vnd.oci.image.index.v1+json";
    let headers = [("Content-Type", kind)];
    for child in [sha256(b"not there"), sha256(b"")] {
        let child = json!({"mediaType": kind, "digest": child, "size": 1});
        let body = json!({"schemaVersion": 2, "mediaType": kind, "manifests": [child]});
        let body = body.to_string();
        let put = door
            .call("PUT", "/v2/p/manifests/loop", &headers, body.as_bytes())
            .await;
        put.expect(404, "MANIFEST_BLOB_UNKNOWN");
    }
    door.get("/v2/p/manifests/loop")
        .await
        .expect(404, "MANIFEST_UNKNOWN");
}

#[tokio::test]
async fn a_project_cannot_take_more_than_its_quota() {
    let door = Door::open().await;
    door.push_blob("p", b"12345").await;
    crate::operator::registry::set_quota(&door.app.store, "p", Some(8))
        .await
        .unwrap();
    let digest = sha256(b"6789");
    let path = format!("/v2/p/blobs/uploads/?digest={digest}");
    door.call("POST", &path, &[], b"6789")
        .await
        .expect(403, "DENIED");
    door.get(&format!("/v2/p/blobs/{digest}"))
        .await
        .expect(404, "BLOB_UNKNOWN");
    door.push_blob("p", b"678").await;
}
