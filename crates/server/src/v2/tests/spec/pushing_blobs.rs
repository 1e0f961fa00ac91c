//! "Pushing blobs": in one request, in two, streamed, in chunks, and from another repository.

use kiln_model::Digest;
use sha2::{Digest as _, Sha512};

use crate::answer::Answer;
use crate::v2::tests::client::{Door, sha256};

const UPLOADS: &str = "/v2/spec/repo/blobs/uploads/";
const BYTES: &[u8] = b"a blob that is sent in several pieces";

fn digests() -> [Digest; 2] {
    let long = Digest::from_hash(&Sha512::digest(BYTES)).unwrap();
    [sha256(BYTES), long]
}

async fn started(door: &Door) -> String {
    let start = door.call("POST", UPLOADS, &[], b"").await;
    assert_eq!(start.status, 202);
    start.header("Location").unwrap().to_owned()
}

/// The upload became a blob that lies where the answer says.
async fn is_there(door: &Door, answer: &Answer, digest: &Digest) {
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(
        answer.header("Docker-Content-Digest"),
        Some(digest.as_str())
    );
    let at = answer.header("Location").unwrap();
    assert_eq!(door.get(at).await.body, BYTES);
}

async fn chunk(door: &Door, method: &str, at: &str, range: std::ops::Range<usize>) -> Answer {
    let header = format!("{}-{}", range.start, range.end - 1);
    door.call(method, at, &[("Content-Range", &header)], &BYTES[range])
        .await
}

#[tokio::test]
async fn end_4b_a_single_post() {
    for digest in digests() {
        let door = Door::open().await;
        let path = format!("{UPLOADS}?digest={digest}");
        let pushed = door.call("POST", &path, &[], BYTES).await;
        is_there(&door, &pushed, &digest).await;
    }
}

#[tokio::test]
async fn end_4a_and_6_post_then_put() {
    for digest in digests() {
        let door = Door::open().await;
        let at = started(&door).await;
        let put = format!("{at}?digest={digest}");
        let pushed = door.call("PUT", &put, &[], BYTES).await;
        is_there(&door, &pushed, &digest).await;
    }
}

#[tokio::test]
async fn end_5_one_stream() {
    for digest in digests() {
        let door = Door::open().await;
        let at = started(&door).await;
        let sent = door.call("PATCH", &at, &[], BYTES).await;
        assert_eq!(sent.status, 202);
        let put = format!("{}?digest={digest}", sent.header("Location").unwrap());
        let pushed = door.call("PUT", &put, &[], b"").await;
        is_there(&door, &pushed, &digest).await;
    }
}

#[tokio::test]
async fn end_5_chunks_the_last_with_the_put_or_before_it() {
    for digest in digests() {
        for with_put in [true, false] {
            let door = Door::open().await;
            let at = started(&door).await;
            assert_eq!(chunk(&door, "PATCH", &at, 0..10).await.status, 202);
            assert_eq!(chunk(&door, "PATCH", &at, 10..20).await.status, 202);
            let put = format!("{at}?digest={digest}");
            let pushed = if with_put {
                chunk(&door, "PUT", &put, 20..BYTES.len()).await
            } else {
                chunk(&door, "PATCH", &at, 20..BYTES.len()).await;
                door.call("PUT", &put, &[], b"").await
            };
            is_there(&door, &pushed, &digest).await;
        }
    }
}

/// The specification lets a registry announce how small a chunk may be; one byte is enough here.
#[tokio::test]
async fn end_4a_announces_no_smallest_chunk_since_none_is_too_small() {
    let door = Door::open().await;
    let start = door.call("POST", UPLOADS, &[], b"").await;
    assert_eq!(start.header("OCI-Chunk-Min-Length"), None);
    let at = start.header("Location").unwrap();
    for first in 0..BYTES.len() {
        let sent = chunk(&door, "PATCH", at, first..first + 1).await;
        assert_eq!(sent.status, 202, "{sent:?}");
    }
    let [digest, _] = digests();
    let put = format!("{at}?digest={digest}");
    let pushed = door.call("PUT", &put, &[], b"").await;
    is_there(&door, &pushed, &digest).await;
}

#[tokio::test]
async fn end_5_a_chunk_out_of_order_is_refused_and_the_upload_goes_on() {
    let door = Door::open().await;
    let at = started(&door).await;
    let [digest, _] = digests();
    let put = format!("{at}?digest={digest}");
    let ahead = chunk(&door, "PATCH", &at, 10..20).await;
    assert_eq!((ahead.status, ahead.header("Range")), (416, Some("0-0")));
    assert_eq!(chunk(&door, "PATCH", &at, 0..10).await.status, 202);
    for (method, path, range) in [
        ("PATCH", &at, 20..30),
        ("PATCH", &at, 0..10),
        ("PUT", &put, 20..BYTES.len()),
        ("PUT", &put, 0..10),
    ] {
        let refused = chunk(&door, method, path, range).await;
        assert_eq!(refused.status, 416, "{method}");
        let stands = door.get(path).await;
        assert_eq!((stands.status, stands.header("Range")), (204, Some("0-9")));
        assert_eq!(stands.header("Location"), Some(at.as_str()));
    }
    let pushed = chunk(&door, "PUT", &put, 10..BYTES.len()).await;
    is_there(&door, &pushed, &digest).await;
}

#[tokio::test]
async fn bytes_of_another_digest_are_refused_however_they_came() {
    let door = Door::open().await;
    for digest in digests() {
        let wrong: &[u8] = b"oh no";
        let post = format!("{UPLOADS}?digest={digest}");
        let refused = door.call("POST", &post, &[], wrong).await;
        refused.expect(400, "DIGEST_INVALID");
        for stream in [true, false] {
            let at = started(&door).await;
            let put = format!("{at}?digest={digest}");
            let body = if stream {
                door.call("PATCH", &at, &[], wrong).await;
                b""
            } else {
                wrong
            };
            let refused = door.call("PUT", &put, &[], body).await;
            refused.expect(400, "DIGEST_INVALID");
        }
        let path = format!("/v2/spec/repo/blobs/{digest}");
        assert_eq!(door.get(&path).await.status, 404);
    }
}

#[tokio::test]
async fn an_upload_may_say_its_algorithm_in_advance() {
    let door = Door::open().await;
    for (algorithm, status) in [("sha256", 202), ("sha512", 202), ("md5", 400)] {
        let path = format!("{UPLOADS}?digest-algorithm={algorithm}");
        let start = door.call("POST", &path, &[], b"").await;
        assert_eq!(start.status, status, "{algorithm}");
    }
}

/// Clients ask for one token and try once more: it must be one for both.
#[tokio::test]
async fn end_11_who_comes_without_a_token_is_told_of_both_repositories() {
    let door = Door::open().await;
    let digest = door.push_blob("theirs", BYTES).await;
    let path = format!("/v2/ours/blobs/uploads/?mount={digest}&from=theirs");
    let refused = door.send("POST", &path, &[], b"").await;
    assert_eq!(refused.status, 401, "{refused:?}");
    let scope = "repository:ours:pull,push repository:theirs:pull";
    let challenge = refused.header("WWW-Authenticate").unwrap();
    assert!(challenge.contains(scope), "{challenge}");
    let token = door.token(&scope.replace(' ', "%20")).await;
    let mounted = door.call_as(&token, "POST", &path, &[], b"").await;
    is_there(&door, &mounted, &digest).await;
}

#[tokio::test]
async fn end_11_mounting_with_and_without_a_source_and_when_it_is_missing() {
    for digest in digests() {
        let door = Door::open().await;
        let post = format!("/v2/spec/other/blobs/uploads/?digest={digest}");
        assert_eq!(door.call("POST", &post, &[], BYTES).await.status, 201);
        for query in [
            format!("mount={digest}&from=spec/other"),
            format!("mount={digest}"),
        ] {
            let path = format!("{UPLOADS}?{query}");
            let mounted = door.call("POST", &path, &[], b"").await;
            is_there(&door, &mounted, &digest).await;
        }
        let missing = sha256(b"missing");
        let path = format!("{UPLOADS}?mount={missing}&from=spec/other");
        let fallback = door.call("POST", &path, &[], b"").await;
        assert_eq!(fallback.status, 202);
        let put = format!(
            "{}?digest={}",
            fallback.header("Location").unwrap(),
            sha256(b"missing")
        );
        assert_eq!(door.call("PUT", &put, &[], b"missing").await.status, 201);
    }
}

#[tokio::test]
async fn end_14_an_upload_is_cancelled() {
    let door = Door::open().await;
    let at = started(&door).await;
    assert_eq!(door.call("DELETE", &at, &[], b"").await.status, 204);
    assert_eq!(door.get(&at).await.status, 404);
}
