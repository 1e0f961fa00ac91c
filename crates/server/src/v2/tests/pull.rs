use super::client::{Door, MANIFEST, sha256};

#[tokio::test]
async fn a_blob_is_pulled_whole() {
    let door = Door::open().await;
    let digest = door.push_blob("p", b"hello").await;
    let path = format!("/v2/p/blobs/{digest}");
    for (method, body) in [("GET", b"hello".as_slice()), ("HEAD", b"")] {
        let answer = door.call(method, &path, &[], b"").await;
        assert_eq!(
            (answer.status, answer.body.as_slice()),
            (200, body),
            "{method}"
        );
        assert_eq!(answer.header("Content-Length"), Some("5"));
        assert_eq!(
            answer.header("Docker-Content-Digest"),
            Some(digest.as_str())
        );
        assert_eq!(answer.header("Accept-Ranges"), Some("bytes"));
    }
    let empty = door.push_blob("p", b"").await;
    let answer = door.get(&format!("/v2/p/blobs/{empty}")).await;
    assert_eq!(
        (answer.status, answer.header("Content-Length")),
        (200, Some("0"))
    );
}

#[tokio::test]
async fn a_part_of_a_blob_is_pulled() {
    let door = Door::open().await;
    let digest = door.push_blob("p", b"0123456789").await;
    let path = format!("/v2/p/blobs/{digest}");
    let get = async |range: &str| door.call("GET", &path, &[("Range", range)], b"").await;
    let part = get("bytes=2-4").await;
    assert_eq!(
        (part.status, part.body.as_slice()),
        (206, b"234".as_slice())
    );
    assert_eq!(part.header("Content-Range"), Some("bytes 2-4/10"));
    assert_eq!(part.header("Content-Length"), Some("3"));
    assert_eq!(get("bytes=7-").await.body, b"789");
    assert_eq!(get("bytes=-2").await.body, b"89");
    let beyond = get("bytes=10-11").await;
    assert_eq!(
        (beyond.status, beyond.header("Content-Range")),
        (416, Some("bytes */10"))
    );
}

#[tokio::test]
async fn a_large_blob_comes_back_as_it_went() {
    let door = Door::open().await;
    let bytes: Vec<u8> = (0..3_500_000_u32).flat_map(u32::to_le_bytes).collect();
    let digest = door.push_blob("p", &bytes).await;
    let answer = door.get(&format!("/v2/p/blobs/{digest}")).await;
    assert_eq!(sha256(&answer.body), digest);
}

#[tokio::test]
async fn a_manifest_is_pulled_by_tag_and_by_digest() {
    let door = Door::open().await;
    let digest = door.push_image("p/a", "v1").await;
    for reference in ["v1", digest.as_str()] {
        let path = format!("/v2/p/a/manifests/{reference}");
        let got = door.get(&path).await;
        assert_eq!((got.status, sha256(&got.body)), (200, digest.clone()));
        let head = door.call("HEAD", &path, &[], b"").await;
        assert!(head.body.is_empty());
        for answer in [&got, &head] {
            assert_eq!(answer.header("Content-Type"), Some(MANIFEST));
            assert_eq!(
                answer.header("Docker-Content-Digest"),
                Some(digest.as_str())
            );
            assert_eq!(
                answer.header("Content-Length"),
                Some(got.body.len().to_string().as_str())
            );
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let door = Door::open().await;
    door.push_image("p", "v1").await;
    let digest = sha256(b"nothing");
    door.get(&format!("/v2/p/blobs/{digest}"))
        .await
        .expect(404, "BLOB_UNKNOWN");
    door.get(&format!("/v2/p/manifests/{digest}"))
        .await
        .expect(404, "MANIFEST_UNKNOWN");
    door.get("/v2/p/manifests/v2")
        .await
        .expect(404, "MANIFEST_UNKNOWN");
    door.get("/v2/p/manifests/.INVALID_MANIFEST_NAME")
        .await
        .expect(404, "MANIFEST_UNKNOWN");
    door.get("/v2/nobody/manifests/v1")
        .await
        .expect(404, "NAME_UNKNOWN");
    door.get("/v2/p/other/tags/list")
        .await
        .expect(404, "NAME_UNKNOWN");
    let head = door
        .call("HEAD", &format!("/v2/p/blobs/{digest}"), &[], b"")
        .await;
    assert_eq!((head.status, head.body.len()), (404, 0));
}

#[tokio::test]
async fn blobs_of_one_project_do_not_exist_for_another() {
    let door = Door::open().await;
    let digest = door.push_blob("p", b"secret").await;
    door.push_image("q", "v1").await;
    for method in ["GET", "DELETE"] {
        let answer = door
            .call(method, &format!("/v2/q/blobs/{digest}"), &[], b"")
            .await;
        answer.expect(404, "BLOB_UNKNOWN");
    }
}

#[tokio::test]
async fn tags_manifests_and_blobs_are_deleted_in_that_order() {
    let door = Door::open().await;
    let digest = door.push_image("p", "v1").await;
    let layer = sha256(b"v1");
    let (tag, manifest, blob) = (
        "/v2/p/manifests/v1".to_owned(),
        format!("/v2/p/manifests/{digest}"),
        format!("/v2/p/blobs/{layer}"),
    );
    door.call("DELETE", &blob, &[], b"")
        .await
        .expect(405, "UNSUPPORTED");
    for path in [&tag, &manifest, &blob] {
        assert_eq!(
            door.call("DELETE", path, &[], b"").await.status,
            202,
            "{path}"
        );
        assert_eq!(door.get(path).await.status, 404, "{path}");
        assert_eq!(
            door.call("DELETE", path, &[], b"").await.status,
            404,
            "{path}"
        );
    }
}
