use serde_json::json;

use super::client::{Door, MANIFEST, sha256};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";

#[tokio::test]
async fn tags_are_listed_page_by_page() {
    let door = Door::open().await;
    for tag in ["c", "a", "b"] {
        door.push_image("p", tag).await;
    }
    let all = door.get("/v2/p/tags/list").await;
    assert_eq!(all.json(), json!({"name": "p", "tags": ["a", "b", "c"]}));
    assert_eq!(all.header("Link"), None);
    let first = door.get("/v2/p/tags/list?n=2").await;
    assert_eq!(first.json()["tags"], json!(["a", "b"]));
    assert_eq!(
        first.header("Link"),
        Some(r#"</v2/p/tags/list?n=2&last=b>; rel="next""#)
    );
    let rest = door.get("/v2/p/tags/list?n=2&last=b").await;
    assert_eq!(
        (rest.json()["tags"].clone(), rest.header("Link")),
        (json!(["c"]), None)
    );
    let none = door.get("/v2/p/tags/list?n=0").await;
    assert_eq!(
        (none.json()["tags"].clone(), none.header("Link")),
        (json!([]), None)
    );
    door.get("/v2/p/tags/list?n=many")
        .await
        .expect(400, "UNSUPPORTED");
}

#[tokio::test]
async fn referrers_are_listed_and_filtered() {
    let door = Door::open().await;
    let subject = door.push_image("p", "v1").await;
    let mut artifact = door.image("p", "signature").await;
    artifact["artifactType"] = json!("test/signature+x");
    artifact["subject"] = json!({"mediaType": MANIFEST, "digest": subject, "size": 1});
    let body = artifact.to_string();
    let path = format!("/v2/p/manifests/{}", sha256(body.as_bytes()));
    let pushed = door
        .call("PUT", &path, &[("Content-Type", MANIFEST)], body.as_bytes())
        .await;
    assert_eq!(pushed.header("OCI-Subject"), Some(subject.as_str()));
    let all = door.get(&format!("/v2/p/referrers/{subject}")).await;
    assert_eq!(
        (
            all.status,
            all.header("Content-Type"),
            all.header("OCI-Filters-Applied")
        ),
        (200, Some(INDEX), None)
    );
    assert_eq!(
        all.json()["manifests"][0]["artifactType"],
        "test/signature+x"
    );
    for (kind, count) in [("test/signature%2Bx", 1), ("test/sbom", 0)] {
        let some = door
            .get(&format!("/v2/p/referrers/{subject}?artifactType={kind}"))
            .await;
        assert_eq!(
            some.json()["manifests"].as_array().unwrap().len(),
            count,
            "{kind}"
        );
        assert_eq!(some.header("OCI-Filters-Applied"), Some("artifactType"));
    }
}

#[tokio::test]
async fn what_nobody_refers_to_has_an_empty_list_and_no_error() {
    let door = Door::open().await;
    let empty = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": []});
    let subject = sha256(b"nothing");
    assert_eq!(
        door.get(&format!("/v2/nobody/here/referrers/{subject}"))
            .await
            .json(),
        empty
    );
    door.push_image("p", "v1").await;
    assert_eq!(
        door.get(&format!("/v2/p/referrers/{subject}")).await.json(),
        empty
    );
    door.get("/v2/p/referrers/nonsense")
        .await
        .expect(400, "DIGEST_INVALID");
}
