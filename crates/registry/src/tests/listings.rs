use serde_json::json;

use super::fixture::{Fixture, MANIFEST, image, sha256};
use crate::Refusal;

#[tokio::test]
async fn tags_are_listed_in_order_and_page_by_page() {
    let f = Fixture::new().await;
    for tag in ["b", "a", "C", "d"] {
        f.push_image(&f.ours, tag).await;
    }
    let all = f.registry.tags(&f.ours, None, 100).await.unwrap();
    assert_eq!(
        (all.entries, all.more),
        (["C", "a", "b", "d"].map(str::to_owned).to_vec(), false)
    );
    let first = f.registry.tags(&f.ours, None, 2).await.unwrap();
    assert_eq!(
        (first.entries, first.more),
        (["C", "a"].map(str::to_owned).to_vec(), true)
    );
    let rest = f
        .registry
        .tags(&f.ours, Some("a".to_owned()), 2)
        .await
        .unwrap();
    assert_eq!(
        (rest.entries, rest.more),
        (["b", "d"].map(str::to_owned).to_vec(), false)
    );
    let none = f.registry.tags(&f.ours, None, 0).await.unwrap();
    assert_eq!((none.entries, none.more), (Vec::new(), false));
}

#[tokio::test]
async fn a_repository_nobody_used_has_no_list_of_tags() {
    let f = Fixture::new().await;
    assert!(matches!(
        f.registry.tags(&f.ours, None, 1).await,
        Err(Refusal::NameUnknown)
    ));
    f.push_blob(&f.ours, b"blob").await;
    assert!(
        f.registry
            .tags(&f.ours, None, 1)
            .await
            .unwrap()
            .entries
            .is_empty()
    );
}

#[tokio::test]
async fn referrers_are_found_by_subject_and_filtered_by_type() {
    let f = Fixture::new().await;
    let subject = sha256(b"a subject that need not be there");
    let config = f.push_blob(&f.ours, b"{}").await;
    let artifact = |kind: &str| {
        let mut body = image(&config, &[]);
        body["subject"] = json!({"mediaType": MANIFEST, "digest": subject, "size": 1});
        body["artifactType"] = json!(kind);
        body["annotations"] = json!({"kind": kind});
        body
    };
    for kind in ["test/sbom", "test/signature"] {
        let body = artifact(kind);
        let digest = sha256(body.to_string().as_bytes());
        let pushed = f
            .put(&f.ours, digest.as_str(), MANIFEST, &body)
            .await
            .unwrap();
        assert_eq!(pushed.subject.as_ref(), Some(&subject));
    }
    f.push_image(&f.ours, "unrelated").await;
    let all = f
        .registry
        .referrers(&f.ours, &subject, None, None)
        .await
        .unwrap();
    assert_eq!((all.entries.len(), all.more), (2, false));
    let some = f
        .registry
        .referrers(&f.ours, &subject, Some("test/sbom".to_owned()), None)
        .await
        .unwrap();
    assert_eq!(some.entries.len(), 1);
    let entry = &some.entries[0];
    assert_eq!(entry.artifact_type.as_deref(), Some("test/sbom"));
    assert_eq!(entry.annotations.as_ref().unwrap()["kind"], "test/sbom");
    assert_eq!(entry.size, artifact("test/sbom").to_string().len());
    let after = f
        .registry
        .referrers(&f.ours, &subject, None, Some(all.entries[0].digest.clone()))
        .await
        .unwrap();
    assert_eq!(after.entries, all.entries[1..]);
    assert!(
        f.registry
            .referrers(&f.theirs, &subject, None, None)
            .await
            .unwrap()
            .entries
            .is_empty()
    );
}

#[tokio::test]
async fn a_page_of_referrers_stays_small_however_large_they_are() {
    let f = Fixture::new().await;
    let subject = sha256(b"subject");
    let config = f.push_blob(&f.ours, b"{}").await;
    for number in 0..3 {
        let mut body = image(&config, &[]);
        body["subject"] = json!({"mediaType": MANIFEST, "digest": subject, "size": 1});
        body["annotations"] = json!({"number": number.to_string(), "large": "x".repeat(3_000_000)});
        let digest = sha256(body.to_string().as_bytes());
        f.put(&f.ours, digest.as_str(), MANIFEST, &body)
            .await
            .unwrap();
    }
    let first = f
        .registry
        .referrers(&f.ours, &subject, None, None)
        .await
        .unwrap();
    assert_eq!((first.entries.len(), first.more), (2, true));
    let last = Some(first.entries[1].digest.clone());
    let rest = f
        .registry
        .referrers(&f.ours, &subject, None, last)
        .await
        .unwrap();
    assert_eq!((rest.entries.len(), rest.more), (1, false));
}
