//! "Content discovery": tags and referrers.

use serde_json::{Value, json};

use crate::v2::tests::client::{Door, MANIFEST, sha256};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";

async fn tags(door: &Door, query: &str) -> (Value, Option<String>) {
    let path = format!("/v2/spec/repo/tags/list{query}");
    let answer = door.get(&path).await;
    assert_eq!(answer.status, 200, "{query}");
    let link = answer.header("Link").map(str::to_owned);
    (answer.json()["tags"].clone(), link)
}

#[tokio::test]
async fn end_8_lists_tags_in_the_order_of_their_bytes() {
    let door = Door::open().await;
    for tag in ["b", "B", "a", "_", "10", "9"] {
        door.push_image("spec/repo", tag).await;
    }
    let all = ["10", "9", "B", "_", "a", "b"];
    assert_eq!(tags(&door, "").await, (json!(all), None));
    for (index, last) in all.iter().enumerate() {
        let rest = tags(&door, &format!("?last={last}")).await;
        assert_eq!(rest, (json!(all[index + 1..]), None), "{last}");
    }
    assert_eq!(tags(&door, "?last=5").await.0, json!(all[1..]));
}

#[tokio::test]
async fn end_8_links_lead_through_all_tags() {
    let door = Door::open().await;
    let all: Vec<String> = (0..7).map(|number| format!("tag-{number}")).collect();
    for tag in &all {
        door.push_image("spec/repo", tag).await;
    }
    let mut seen = Vec::new();
    let mut query = "?n=3".to_owned();
    loop {
        let (page, link) = tags(&door, &query).await;
        seen.extend(page.as_array().unwrap().clone());
        let Some(link) = link else { break };
        let url = link.strip_prefix('<').unwrap();
        let url = url.strip_suffix(">; rel=\"next\"").unwrap();
        url.strip_prefix("/v2/spec/repo/tags/list")
            .unwrap()
            .clone_into(&mut query);
    }
    assert_eq!(json!(seen), json!(all));
}

#[tokio::test]
async fn end_12_lists_what_refers_to_a_manifest_that_may_not_be_there_yet() {
    let door = Door::open().await;
    let subject = sha256(b"not pushed");
    let path = format!("/v2/spec/repo/referrers/{subject}");
    let empty = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": []});
    assert_eq!(door.get(&path).await.json(), empty);
    let mut expected = Vec::new();
    for number in 0..3 {
        let mut referrer = door.image("spec/repo", &format!("layer {number}")).await;
        referrer["subject"] = json!({"mediaType": MANIFEST, "digest": subject, "size": 9});
        referrer["artifactType"] = json!(format!("example/kind-{}", number % 2));
        referrer["annotations"] = json!({"number": number.to_string()});
        let body = referrer.to_string();
        let digest = sha256(body.as_bytes());
        let put = format!("/v2/spec/repo/manifests/{digest}");
        let kind = [("Content-Type", MANIFEST)];
        let pushed = door.call("PUT", &put, &kind, body.as_bytes()).await;
        assert_eq!(pushed.header("OCI-Subject"), Some(subject.as_str()));
        expected.push(json!({
            "mediaType": MANIFEST,
            "digest": digest,
            "size": body.len(),
            "artifactType": referrer["artifactType"],
            "annotations": referrer["annotations"],
        }));
    }
    let by_digest = |entry: &Value| entry["digest"].as_str().unwrap().to_owned();
    expected.sort_by_key(by_digest);
    let all = door.get(&path).await;
    assert_eq!(all.header("Content-Type"), Some(INDEX));
    assert_eq!(all.header("OCI-Filters-Applied"), None);
    assert_eq!(all.json()["manifests"], json!(expected));
    for kind in ["example/kind-0", "example/kind-1", "example/other"] {
        let filtered = door.get(&format!("{path}?artifactType={kind}")).await;
        assert_eq!(filtered.header("OCI-Filters-Applied"), Some("artifactType"));
        let wanted: Vec<_> = expected
            .iter()
            .filter(|entry| entry["artifactType"] == kind)
            .collect();
        assert_eq!(filtered.json()["manifests"], json!(wanted), "{kind}");
    }
}

#[tokio::test]
async fn end_12_an_artifact_without_a_type_has_that_of_its_config() {
    let door = Door::open().await;
    let subject = sha256(b"subject");
    let mut referrer = door.image("spec/repo", "layer").await;
    referrer["subject"] = json!({"mediaType": MANIFEST, "digest": subject, "size": 7});
    referrer["config"]["mediaType"] = json!("example/config");
    let kind = [("Content-Type", MANIFEST)];
    let body = referrer.to_string();
    door.call("PUT", "/v2/spec/repo/manifests/x", &kind, body.as_bytes())
        .await;
    let listed = door
        .get(&format!("/v2/spec/repo/referrers/{subject}"))
        .await
        .json();
    assert_eq!(listed["manifests"][0]["artifactType"], "example/config");
}

/// What clients do with registries that have no referrers; ours must not stand in their way.
#[tokio::test]
async fn the_referrers_tag_of_the_fallback_schema_is_a_tag_like_others() {
    let door = Door::open().await;
    let manifest = door.push_image("spec/repo", "v1").await;
    let tag = manifest.as_str().replace(':', "-");
    let body = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": []}).to_string();
    let path = format!("/v2/spec/repo/manifests/{tag}");
    let kind = [("Content-Type", INDEX)];
    let pushed = door.call("PUT", &path, &kind, body.as_bytes()).await;
    assert_eq!(pushed.status, 201);
    assert_eq!(door.get(&path).await.body, body.as_bytes());
}
