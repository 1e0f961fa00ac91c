use super::client::{Door, MANIFEST, sha256};

#[tokio::test]
async fn a_blob_is_pushed_in_chunks() {
    let door = Door::open().await;
    let start = door.call("POST", "/v2/p/a/blobs/uploads/", &[], b"").await;
    let (id, location) = (
        start.header("Docker-Upload-UUID").unwrap(),
        start.header("Location").unwrap(),
    );
    assert_eq!((start.status, start.header("Range")), (202, Some("0-0")));
    assert_eq!(location, format!("/v2/p/a/blobs/uploads/{id}"));
    let first = door
        .call("PATCH", location, &[("Content-Range", "0-5")], b"hello ")
        .await;
    assert_eq!((first.status, first.header("Range")), (202, Some("0-5")));
    let status = door.get(location).await;
    assert_eq!(
        (
            status.status,
            status.header("Range"),
            status.header("Location")
        ),
        (204, Some("0-5"), Some(location))
    );
    let digest = sha256(b"hello world");
    let put = format!("{location}?digest={digest}");
    let last = door
        .call("PUT", &put, &[("Content-Range", "6-10")], b"world")
        .await;
    assert_eq!(last.status, 201);
    let blob = format!("/v2/p/a/blobs/{digest}");
    assert_eq!(last.header("Location"), Some(blob.as_str()));
    assert_eq!(last.header("Docker-Content-Digest"), Some(digest.as_str()));
    assert_eq!(door.get(&blob).await.body, b"hello world");
    door.get(location).await.expect(404, "BLOB_UPLOAD_UNKNOWN");
}

#[tokio::test]
async fn chunks_out_of_order_are_told_where_the_upload_stands() {
    let door = Door::open().await;
    let start = door.call("POST", "/v2/p/blobs/uploads/", &[], b"").await;
    let location = start.header("Location").unwrap();
    door.call("PATCH", location, &[], b"abc").await;
    for range in ["0-0", "4-4", "3", "x-y", "9-3"] {
        for method in ["PATCH", "PUT"] {
            let path = format!("{location}?digest={}", sha256(b"abc"));
            let refused = door
                .call(method, &path, &[("Content-Range", range)], b"d")
                .await;
            refused.expect(416, "BLOB_UPLOAD_INVALID");
            assert_eq!(refused.header("Range"), Some("0-2"), "{method} {range}");
            assert_eq!(refused.header("Location"), Some(location));
        }
    }
    let short = door
        .call("PATCH", location, &[("Content-Range", "3-9")], b"d")
        .await;
    short.expect(400, "SIZE_INVALID");
    assert_eq!(door.get(location).await.header("Range"), Some("0-2"));
}

#[tokio::test]
async fn a_blob_is_pushed_whole() {
    let door = Door::open().await;
    let digest = sha256(b"whole");
    for method in ["POST", "PUT"] {
        let path = format!("/v2/p/blobs/uploads?digest={digest}");
        assert_eq!(
            door.call(method, &path, &[], b"whole").await.status,
            201,
            "{method}"
        );
    }
    let start = door.call("POST", "/v2/p/blobs/uploads/", &[], b"").await;
    let put = format!(
        "{}?digest={}",
        start.header("Location").unwrap(),
        sha256(b"later")
    );
    assert_eq!(door.call("PUT", &put, &[], b"later").await.status, 201);
}

#[tokio::test]
async fn bytes_must_have_the_digest_they_are_pushed_by() {
    let door = Door::open().await;
    let wrong = sha256(b"other");
    let path = format!("/v2/p/blobs/uploads/?digest={wrong}");
    door.call("POST", &path, &[], b"bytes")
        .await
        .expect(400, "DIGEST_INVALID");
    door.get(&format!("/v2/p/blobs/{wrong}"))
        .await
        .expect(404, "BLOB_UNKNOWN");
    for digest in ["", "sha256:abc", "sha256:../../x"] {
        let start = door.call("POST", "/v2/p/blobs/uploads/", &[], b"").await;
        let put = format!("{}?digest={digest}", start.header("Location").unwrap());
        door.call("PUT", &put, &[], b"bytes")
            .await
            .expect(400, "DIGEST_INVALID");
    }
}

#[tokio::test]
async fn an_upload_can_be_cancelled() {
    let door = Door::open().await;
    let start = door.call("POST", "/v2/p/blobs/uploads/", &[], b"").await;
    let location = start.header("Location").unwrap();
    assert_eq!(door.call("DELETE", location, &[], b"").await.status, 204);
    door.call("DELETE", location, &[], b"")
        .await
        .expect(404, "BLOB_UPLOAD_UNKNOWN");
    door.call("PATCH", location, &[], b"x")
        .await
        .expect(404, "BLOB_UPLOAD_UNKNOWN");
}

#[tokio::test]
async fn a_blob_of_the_same_project_is_mounted() {
    let door = Door::open().await;
    let digest = door.push_blob("p/a", b"layer").await;
    let token = door.token("repository:p/b:pull,push").await;
    for query in [
        format!("mount={digest}&from=p/a"),
        format!("mount={digest}"),
        format!("digest={digest}&from=p/a"),
    ] {
        let path = format!("/v2/p/b/blobs/uploads/?{query}");
        let mounted = door.call_as(&token, "POST", &path, &[], b"").await;
        assert_eq!(mounted.status, 201, "{query}");
        assert_eq!(
            mounted.header("Location"),
            Some(format!("/v2/p/b/blobs/{digest}").as_str())
        );
        assert_eq!(
            mounted.header("Docker-Content-Digest"),
            Some(digest.as_str())
        );
    }
}

#[tokio::test]
async fn a_mount_that_cannot_be_becomes_an_upload() {
    let door = Door::open().await;
    let digest = door.push_blob("theirs", b"secret").await;
    let token = door
        .token(
            "repository:ours:pull,push&scope=repository:theirs:fly&scope=repository:nowhere:pull",
        )
        .await;
    for query in [
        // A token that was refused a right to the source, and a blob that exists elsewhere only.
        format!("mount={digest}&from=theirs"),
        format!("mount={digest}"),
        format!("mount={digest}&from=nowhere"),
        format!("mount={digest}&from=../theirs"),
        "mount=nonsense&from=theirs".to_owned(),
    ] {
        let path = format!("/v2/ours/blobs/uploads/?{query}");
        let answer = door.call_as(&token, "POST", &path, &[], b"").await;
        assert_eq!(answer.status, 202, "{query}");
        assert!(answer.header("Docker-Upload-UUID").is_some());
    }
    door.get(&format!("/v2/ours/blobs/{digest}"))
        .await
        .expect(404, "BLOB_UNKNOWN");
}

#[tokio::test]
async fn a_mount_from_another_project_needs_a_token_for_both() {
    let door = Door::open().await;
    let digest = door.push_blob("theirs", b"shared").await;
    let path = format!("/v2/ours/blobs/uploads/?mount={digest}&from=theirs");
    let token = door.token("repository:ours:pull,push").await;
    let asked = door.call_as(&token, "POST", &path, &[], b"").await;
    asked.expect(401, "UNAUTHORIZED");
    let challenge = asked.header("WWW-Authenticate").unwrap();
    let scope = "repository:ours:pull,push repository:theirs:pull";
    assert!(
        challenge.contains(&format!("scope=\"{scope}\"")),
        "{challenge}"
    );
    let token = door.token(&scope.replace(' ', "%20")).await;
    let mounted = door.call_as(&token, "POST", &path, &[], b"").await;
    assert_eq!(mounted.status, 201, "{mounted:?}");
    assert_eq!(
        door.call("POST", &path, &[], b"").await.status,
        201,
        "a key is not bound to one project"
    );
}

#[tokio::test]
async fn a_blob_is_found_wherever_its_pusher_may_read_it() {
    let door = Door::open().await;
    let digest = door.push_blob("theirs/deep", b"shared").await;
    let path = |to: &str| format!("/v2/{to}/blobs/uploads/?mount={digest}");
    let narrow = door.token("repository:first:pull,push").await;
    let refused = door
        .call_as(&narrow, "POST", &path("first"), &[], b"")
        .await;
    assert_eq!(refused.status, 202, "this token speaks of no other project");
    let scopes = "repository:first:pull,push&scope=repository:theirs:pull";
    let wide = door.token(scopes).await;
    let mounted = door.call_as(&wide, "POST", &path("first"), &[], b"").await;
    assert_eq!(mounted.status, 201, "{mounted:?}");
    let mounted = door.call("POST", &path("second"), &[], b"").await;
    assert_eq!(mounted.status, 201, "a key is not bound to one project");
    let found = door.get(&format!("/v2/second/blobs/{digest}")).await;
    assert_eq!(found.body, b"shared");
}

#[tokio::test]
async fn a_manifest_is_pushed_by_tag_and_by_digest() {
    let door = Door::open().await;
    let body = door.image("p", "layer").await.to_string();
    let digest = sha256(body.as_bytes());
    for reference in ["v1", digest.as_str()] {
        let path = format!("/v2/p/manifests/{reference}");
        let pushed = door
            .call("PUT", &path, &[("Content-Type", MANIFEST)], body.as_bytes())
            .await;
        assert_eq!(pushed.status, 201);
        assert_eq!(
            pushed.header("Location"),
            Some(format!("/v2/p/manifests/{digest}").as_str())
        );
        assert_eq!(
            pushed.header("Docker-Content-Digest"),
            Some(digest.as_str())
        );
        assert_eq!(pushed.header("OCI-Subject"), None);
    }
    let path = format!("/v2/p/manifests/{digest}?tag=a&tag=b");
    let pushed = door
        .call("PUT", &path, &[("Content-Type", MANIFEST)], body.as_bytes())
        .await;
    assert_eq!(pushed.header("OCI-Tag"), Some("a"));
    assert_eq!(
        door.get("/v2/p/manifests/b")
            .await
            .header("Docker-Content-Digest"),
        Some(digest.as_str())
    );
}

#[tokio::test]
async fn a_manifest_that_cannot_be_stored_says_why() {
    let door = Door::open().await;
    let put = async |reference: &str, kind: &str, body: &[u8]| {
        door.call(
            "PUT",
            &format!("/v2/p/manifests/{reference}"),
            &[("Content-Type", kind)],
            body,
        )
        .await
    };
    let good = door.image("p", "layer").await;
    let mut missing = good.clone();
    let (one, two) = (sha256(b"one"), sha256(b"two"));
    missing["layers"][0]["digest"] = one.as_str().into();
    missing["config"]["digest"] = two.as_str().into();
    let refused = put("v1", MANIFEST, missing.to_string().as_bytes()).await;
    refused.expect(404, "MANIFEST_BLOB_UNKNOWN");
    assert_eq!(
        refused.json()["errors"][0]["detail"]["digest"],
        two.as_str()
    );
    assert_eq!(
        refused.json()["errors"][1]["detail"]["digest"],
        one.as_str()
    );
    put("v1", MANIFEST, b"{}")
        .await
        .expect(400, "MANIFEST_INVALID");
    put("v1", "text/plain", good.to_string().as_bytes())
        .await
        .expect(400, "MANIFEST_INVALID");
    put(one.as_str(), MANIFEST, good.to_string().as_bytes())
        .await
        .expect(400, "DIGEST_INVALID");
    put(".bad", MANIFEST, good.to_string().as_bytes())
        .await
        .expect(400, "TAG_INVALID");
    put("v1", MANIFEST, &vec![b' '; 4 * 1024 * 1024 + 1])
        .await
        .expect(413, "SIZE_INVALID");
    door.get("/v2/p/manifests/v1")
        .await
        .expect(404, "MANIFEST_UNKNOWN");
}

#[tokio::test]
async fn a_push_to_a_new_slug_makes_the_project() {
    let door = Door::open().await;
    let token = door.token("repository:brand-new/app:pull,push").await;
    let start = door
        .call_as(&token, "POST", "/v2/brand-new/app/blobs/uploads/", &[], b"")
        .await;
    assert_eq!(start.status, 202);
    assert!(door.project_uuid("brand-new").await.is_some());
    for name in ["01890000-0000-7000-8000-000000000000", "not_a_slug"] {
        let refused = door
            .call("POST", &format!("/v2/{name}/blobs/uploads/"), &[], b"")
            .await;
        refused.expect(404, "NAME_UNKNOWN");
    }
}
