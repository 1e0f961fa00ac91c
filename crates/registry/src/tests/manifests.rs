use kiln_model::Digest;
use kiln_store::sql::registry;
use sha2::Digest as _;

use super::fixture::{Fixture, INDEX, MANIFEST, image, index, sha256};
use crate::{MAX_MANIFEST_BYTES, NewManifest, Reference, Refusal};

#[tokio::test]
async fn a_manifest_is_read_back_by_tag_and_by_digest() {
    let f = Fixture::new().await;
    let pushed = f.push_image(&f.ours, "v1").await;
    let by_tag = f.manifest(&f.ours, "v1").await.unwrap();
    assert_eq!(by_tag.digest, pushed.digest);
    assert_eq!(by_tag.media_type, MANIFEST);
    assert_eq!(sha256(&by_tag.body), pushed.digest);
    assert_eq!(
        f.manifest(&f.ours, pushed.digest.as_str()).await.unwrap(),
        by_tag
    );
}

#[tokio::test]
async fn a_manifest_whose_content_is_not_there_is_refused_whole() {
    let f = Fixture::new().await;
    let config = f.push_blob(&f.ours, b"{}").await;
    let (absent, elsewhere) = (
        sha256(b"absent"),
        f.push_blob(&f.theirs, b"elsewhere").await,
    );
    let refused = f
        .put(
            &f.ours,
            "v1",
            MANIFEST,
            &image(&config, &[absent.clone(), elsewhere.clone()]),
        )
        .await;
    match refused {
        Err(Refusal::ContentMissing(missing)) => assert_eq!(missing, [absent, elsewhere]),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        f.manifest(&f.ours, "v1").await,
        Err(Refusal::ManifestUnknown)
    ));
}

#[tokio::test]
async fn an_index_needs_its_manifests_in_its_own_repository() {
    let f = Fixture::new().await;
    let child = f.push_image(&f.sibling, "child").await.digest;
    let list = index(std::slice::from_ref(&child));
    assert!(matches!(
        f.put(&f.ours, "all", INDEX, &list).await,
        Err(Refusal::ContentMissing(_))
    ));
    let parent = f.put(&f.sibling, "all", INDEX, &list).await.unwrap().digest;
    let refused = f.delete_manifest(&f.sibling, child.as_str()).await;
    assert!(matches!(refused, Err(Refusal::ManifestNamed { by }) if by == parent));
    f.delete_manifest(&f.sibling, parent.as_str())
        .await
        .unwrap();
    f.delete_manifest(&f.sibling, child.as_str()).await.unwrap();
}

#[tokio::test]
async fn a_manifest_must_have_the_digest_it_is_pushed_by() {
    let f = Fixture::new().await;
    let config = f.push_blob(&f.ours, b"{}").await;
    let body = image(&config, &[]);
    let wrong = sha256(b"other");
    assert!(matches!(
        f.put(&f.ours, wrong.as_str(), MANIFEST, &body).await,
        Err(Refusal::WrongDigest { .. })
    ));
    let long = Digest::from_hash(&sha2::Sha512::digest(body.to_string())).unwrap();
    assert_eq!(
        f.put(&f.ours, long.as_str(), MANIFEST, &body)
            .await
            .unwrap()
            .digest,
        long
    );
    assert_eq!(
        f.manifest(&f.ours, long.as_str()).await.unwrap().digest,
        long
    );
}

#[tokio::test]
async fn a_tag_moves_and_the_old_manifest_stays() {
    let f = Fixture::new().await;
    let first = f.push_image(&f.ours, "v1").await.digest;
    let config = f.push_blob(&f.ours, b"{}").await;
    let second = f
        .put(&f.ours, "v1", MANIFEST, &image(&config, &[]))
        .await
        .unwrap()
        .digest;
    assert_eq!(f.manifest(&f.ours, "v1").await.unwrap().digest, second);
    assert_eq!(
        f.manifest(&f.ours, first.as_str()).await.unwrap().digest,
        first
    );
}

#[tokio::test]
async fn pushing_again_changes_nothing() {
    let f = Fixture::new().await;
    let first = f.push_image(&f.ours, "v1").await;
    assert_eq!(f.push_image(&f.ours, "v1").await, first);
}

#[tokio::test]
async fn deleting_a_tag_keeps_the_manifest_and_deleting_the_manifest_drops_its_tags() {
    let f = Fixture::new().await;
    let digest = f.push_image(&f.ours, "v1").await.digest;
    f.delete_manifest(&f.ours, "v1").await.unwrap();
    assert!(matches!(
        f.manifest(&f.ours, "v1").await,
        Err(Refusal::ManifestUnknown)
    ));
    assert!(matches!(
        f.delete_manifest(&f.ours, "v1").await,
        Err(Refusal::ManifestUnknown)
    ));
    f.push_image(&f.ours, "v1").await;
    f.delete_manifest(&f.ours, digest.as_str()).await.unwrap();
    assert!(matches!(
        f.manifest(&f.ours, "v1").await,
        Err(Refusal::ManifestUnknown)
    ));
    assert!(matches!(
        f.manifest(&f.ours, digest.as_str()).await,
        Err(Refusal::ManifestUnknown)
    ));
}

#[tokio::test]
async fn several_tags_can_be_put_at_once() {
    let f = Fixture::new().await;
    let config = f.push_blob(&f.ours, b"{}").await;
    let body = image(&config, &[]).to_string();
    let digest = sha256(body.as_bytes());
    let new = NewManifest {
        reference: Reference::Digest(digest.clone()),
        tags: vec!["a".parse().unwrap(), "b".parse().unwrap()],
        content_type: None,
        body: body.into(),
    };
    f.registry.put_manifest(&f.ours, new).await.unwrap();
    for tag in ["a", "b"] {
        assert_eq!(f.manifest(&f.ours, tag).await.unwrap().digest, digest);
    }
}

#[tokio::test]
async fn repositories_are_apart_but_a_digest_is_found_in_the_whole_project() {
    let f = Fixture::new().await;
    let digest = f.push_image(&f.sibling, "v1").await.digest;
    assert!(matches!(
        f.manifest(&f.ours, "v1").await,
        Err(Refusal::ManifestUnknown)
    ));
    assert!(matches!(
        f.manifest(&f.ours, digest.as_str()).await,
        Err(Refusal::ManifestUnknown)
    ));
    assert!(
        f.registry
            .manifest_in_project(f.ours.project, &digest)
            .await
            .is_ok()
    );
    let foreign = f
        .registry
        .manifest_in_project(f.theirs.project, &digest)
        .await;
    assert!(matches!(foreign, Err(Refusal::ManifestUnknown)));
}

#[tokio::test]
async fn no_manifest_is_larger_than_the_limit() {
    let f = Fixture::new().await;
    let new = |size| NewManifest {
        reference: Reference::Tag("big".parse().unwrap()),
        tags: Vec::new(),
        content_type: Some(MANIFEST.to_owned()),
        body: vec![b' '; size].into(),
    };
    let large = f
        .registry
        .put_manifest(&f.ours, new(MAX_MANIFEST_BYTES + 1))
        .await;
    assert!(matches!(large, Err(Refusal::ManifestTooLarge)));
    let blank = f
        .registry
        .put_manifest(&f.ours, new(MAX_MANIFEST_BYTES))
        .await;
    assert!(matches!(blank, Err(Refusal::ManifestInvalid(_))));
}

#[tokio::test]
async fn a_manifest_that_rotted_in_the_store_is_not_handed_out() {
    let f = Fixture::new().await;
    f.push_image(&f.ours, "v1").await;
    let spoil = f.store.ledger.submit(|tx| {
        tx.execute(
            "UPDATE registry_manifest SET body = ?1",
            kiln_store::params![b"{}".as_slice()],
        )
    });
    let spoiled: Result<u64, kiln_store::Error> = spoil.await;
    assert_eq!(spoiled.unwrap(), 1);
    let refused = f.manifest(&f.ours, "v1").await;
    assert!(matches!(
        refused,
        Err(Refusal::Store(kiln_store::Error::Corrupt { .. }))
    ));
}

#[tokio::test]
async fn a_reference_resolves_inside_a_transaction() {
    let f = Fixture::new().await;
    let digest = f.push_image(&f.sibling, "v1").await.digest;
    let project = f.ours.project;
    let cases = [
        ("a/b", "v1".to_owned(), true),
        ("a/b", digest.to_string(), true),
        ("a/b", "v2".to_owned(), false),
        ("a/b", sha256(b"other").to_string(), false),
        ("", "v1".to_owned(), false),
        ("none", "v1".to_owned(), false),
    ];
    for (path, reference, there) in cases {
        let (asked, text) = (path, reference.clone());
        let resolved = f
            .store
            .ledger
            .submit(move |tx| registry::resolve(tx, project, asked, &text));
        let resolved: Result<_, kiln_store::Error> = resolved.await;
        assert_eq!(
            resolved.unwrap(),
            there.then(|| digest.clone()),
            "{path} {reference}"
        );
    }
}
