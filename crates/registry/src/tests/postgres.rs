use serde_json::json;

use super::fixture::{Fixture, INDEX, MANIFEST, image, index, sha256};
use crate::Refusal;

/// The other tests say what the operations do; this one takes every statement below them to the other engine.
#[tokio::test]
async fn a_whole_life_of_an_image_on_postgresql() {
    let f = Fixture::on_postgres().await;
    let session = f.start(&f.ours).await;
    f.append(&session, Some(0), b"one ").await.unwrap();
    f.append(&session, Some(4), b"two").await.unwrap();
    let stale = f.append(&session, Some(4), b"again").await;
    assert!(matches!(stale, Err(Refusal::OutOfOrder { size: 7 })));
    let layer = sha256(b"one two");
    f.registry.finish_upload(&session, &layer).await.unwrap();
    let cancelled = f.start(&f.ours).await;
    f.append(&cancelled, None, b"x").await.unwrap();
    f.registry.cancel_upload(&cancelled).await.unwrap();

    let config = f.push_blob(&f.sibling, b"{}").await;
    assert_eq!(f.read(&f.ours, &layer).await.unwrap(), b"one two");
    let mut body = image(&config, std::slice::from_ref(&layer));
    let absent = image(&sha256(b"absent"), &[]);
    assert!(matches!(
        f.put(&f.ours, "v1", MANIFEST, &absent).await,
        Err(Refusal::ContentMissing(_))
    ));
    let child = f.put(&f.ours, "v1", MANIFEST, &body).await.unwrap().digest;
    f.put(&f.ours, "v1", MANIFEST, &body).await.unwrap();
    let parent = f
        .put(&f.ours, "all", INDEX, &index(std::slice::from_ref(&child)))
        .await
        .unwrap()
        .digest;
    body["subject"] = json!({"mediaType": MANIFEST, "digest": child, "size": 1});
    let referrer = f
        .put(&f.ours, "signed", MANIFEST, &body)
        .await
        .unwrap()
        .digest;

    assert_eq!(f.manifest(&f.ours, "v1").await.unwrap().digest, child);
    assert!(
        f.registry
            .manifest_in_project(f.ours.project, &child)
            .await
            .is_ok()
    );
    let tags = f
        .registry
        .tags(&f.ours, Some("all".to_owned()), 1)
        .await
        .unwrap();
    assert_eq!((tags.entries, tags.more), (vec!["signed".to_owned()], true));
    let config_type = Some("application/octet-stream".to_owned());
    for (filter, count) in [(None, 1), (config_type, 1), (Some("other".to_owned()), 0)] {
        let found = f
            .registry
            .referrers(&f.ours, &child, filter, None)
            .await
            .unwrap();
        assert_eq!(found.entries.len(), count);
    }

    assert!(
        f.registry
            .mount_blob(&layer, f.ours.project, f.theirs.project)
            .await
            .unwrap()
    );
    assert!(matches!(
        f.delete_manifest(&f.ours, child.as_str()).await,
        Err(Refusal::ManifestNamed { .. })
    ));
    assert!(matches!(
        f.registry.delete_blob(f.ours.project, &layer).await,
        Err(Refusal::BlobNamed { .. })
    ));
    f.delete_manifest(&f.ours, "signed").await.unwrap();
    for digest in [&referrer, &parent, &child] {
        f.delete_manifest(&f.ours, digest.as_str()).await.unwrap();
    }
    for project in [f.ours.project, f.theirs.project] {
        f.registry.delete_blob(project, &layer).await.unwrap();
    }
    f.registry
        .delete_blob(f.ours.project, &config)
        .await
        .unwrap();
    assert_eq!(f.objects().await, 0);
}

#[tokio::test]
async fn writers_side_by_side_store_the_same_blob_once() {
    let f = Fixture::on_postgres().await;
    let pushes = (0..8).map(|_| f.push_blob(&f.ours, b"the same"));
    let digests = futures_util::future::join_all(pushes).await;
    assert!(digests.iter().all(|digest| *digest == sha256(b"the same")));
    assert_eq!(f.objects().await, 1);
    assert_eq!(f.read(&f.ours, &digests[0]).await.unwrap(), b"the same");
}
