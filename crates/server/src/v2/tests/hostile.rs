use super::client::Door;

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
