//! "Pull": manifests, blobs, ranges, and checking whether content exists.

use crate::v2::tests::client::{Door, sha256};

#[tokio::test]
async fn end_1_says_that_this_is_a_registry() {
    let door = Door::open().await;
    for method in ["GET", "HEAD"] {
        for path in ["/v2", "/v2/"] {
            assert_eq!(door.call(method, path, &[], b"").await.status, 200);
        }
    }
}

#[tokio::test]
async fn end_2_and_3_find_what_exists_and_404_what_does_not() {
    let door = Door::open().await;
    let manifest = door.push_image("spec/repo", "v1").await;
    let layer = sha256(b"v1");
    let missing = sha256(b"missing");
    for method in ["GET", "HEAD"] {
        for (path, status) in [
            (format!("blobs/{layer}"), 200),
            (format!("blobs/{missing}"), 404),
            ("manifests/v1".to_owned(), 200),
            (format!("manifests/{manifest}"), 200),
            ("manifests/missing".to_owned(), 404),
            (format!("manifests/{missing}"), 404),
            ("manifests/.INVALID_MANIFEST_NAME".to_owned(), 404),
            ("manifests/sha256:baddigeststring".to_owned(), 400),
        ] {
            let path = format!("/v2/spec/repo/{path}");
            let answer = door.call(method, &path, &[], b"").await;
            assert_eq!(answer.status, status, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_blob_honours_ranges() {
    let door = Door::open().await;
    let bytes: Vec<u8> = (0..=255).cycle().take(2048).collect();
    let digest = door.push_blob("spec/repo", &bytes).await;
    let path = format!("/v2/spec/repo/blobs/{digest}");
    for (range, first, end) in [
        ("bytes=500-1499", 500, 1500),
        ("bytes=500-", 500, 2048),
        ("bytes=-500", 1548, 2048),
        ("bytes=2000-5000", 2000, 2048),
    ] {
        let part = door.call("GET", &path, &[("Range", range)], b"").await;
        assert_eq!(part.status, 206, "{range}");
        assert_eq!(part.body, &bytes[first..end], "{range}");
        let stands = format!("bytes {first}-{}/2048", end - 1);
        assert_eq!(part.header("Content-Range"), Some(stands.as_str()));
    }
    for range in ["bytes=500-0", "bytes=5000-10000"] {
        let refused = door.call("GET", &path, &[("Range", range)], b"").await;
        assert_eq!(refused.status, 416, "{range}");
    }
}

#[tokio::test]
async fn a_range_may_begin_in_one_chunk_of_an_upload_and_end_in_another() {
    let door = Door::open().await;
    let start = door
        .call("POST", "/v2/spec/repo/blobs/uploads/", &[], b"")
        .await;
    let at = start.header("Location").unwrap();
    for chunk in [b"0123".as_slice(), b"4567", b"89"] {
        assert_eq!(door.call("PATCH", at, &[], chunk).await.status, 202);
    }
    let digest = sha256(b"0123456789");
    let put = format!("{at}?digest={digest}");
    assert_eq!(door.call("PUT", &put, &[], b"").await.status, 201);
    let path = format!("/v2/spec/repo/blobs/{digest}");
    let part = door
        .call("GET", &path, &[("Range", "bytes=2-8")], b"")
        .await;
    assert_eq!(part.body, b"2345678");
}
