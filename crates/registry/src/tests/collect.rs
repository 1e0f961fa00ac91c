use std::time::Duration;

use kiln_model::{Kind, Millis, Priority, Retry, Timeouts};
use kiln_store::sql::job::{self, Life, NewJob};
use kiln_store::sql::lane;

use super::fixture::{Fixture, INDEX, MANIFEST, image, index};
use crate::{Collected, GRACE, Keep, Refusal};

const UNTAGGED: Keep = Keep {
    younger_than: GRACE,
    untagged: false,
};

#[tokio::test]
async fn an_upload_that_nobody_goes_on_with_expires() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    f.append(&session, None, b"half").await.unwrap();
    f.pass(GRACE);
    assert_eq!(f.collect(Keep::default()).await, Collected::default());
    f.append(&session, None, b" and more").await.unwrap();
    f.pass(GRACE);
    assert_eq!(f.registry.upload_size(&session).await.unwrap(), 13);
    f.pass(Duration::from_millis(1));
    let collected = f.collect(Keep::default()).await;
    assert_eq!((collected.uploads, collected.bytes), (1, 13));
    assert_eq!(f.objects().await, 0);
    assert!(matches!(
        f.append(&session, None, b"late").await,
        Err(Refusal::UploadUnknown)
    ));
}

#[tokio::test]
async fn a_blob_that_no_manifest_names_goes_long_after_anybody_looked_for_it() {
    let f = Fixture::new().await;
    let digest = f.push_blob(&f.ours, b"never named").await;
    f.pass(GRACE);
    f.registry.blob(f.ours.project, &digest).await.unwrap();
    f.pass(GRACE);
    assert_eq!(f.collect(Keep::default()).await, Collected::default());
    f.pass(Duration::from_millis(1));
    let collected = f.collect(Keep::default()).await;
    assert_eq!((collected.holdings, collected.objects), (1, 1));
    assert!(matches!(
        f.registry.blob(f.ours.project, &digest).await,
        Err(Refusal::BlobUnknown)
    ));
}

#[tokio::test]
async fn what_a_manifest_names_stays() {
    let f = Fixture::new().await;
    f.push_image(&f.ours, "v1").await;
    f.pass(100 * GRACE);
    assert_eq!(f.collect(Keep::default()).await, Collected::default());
    assert_eq!(f.collect(UNTAGGED).await, Collected::default());
}

#[tokio::test]
async fn one_project_lets_go_of_what_another_keeps() {
    let f = Fixture::new().await;
    f.push_image(&f.ours, "v1").await;
    let layer = f.push_blob(&f.theirs, b"v1").await;
    f.pass(2 * GRACE);
    let collected = f.collect(Keep::default()).await;
    assert_eq!((collected.holdings, collected.objects), (1, 0));
    assert_eq!(f.read(&f.ours, &layer).await.unwrap(), b"v1");
}

#[tokio::test]
async fn an_object_that_no_row_speaks_of_goes_and_one_of_a_live_upload_stays() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    f.append(&session, None, b"on its way").await.unwrap();
    for name in [
        format!("registry/{}/written-before-its-row", session.upload),
        "registry/0b9e6f9e-0000-4000-8000-000000000000/left-behind".to_owned(),
    ] {
        let key = kiln_store::ObjectKey::parse(&name).unwrap();
        let mut writer = f.store.objects.put_named(key, None);
        writer.write(b"bytes").await.unwrap();
        writer.finish().await.unwrap();
    }
    let collected = f.collect(Keep::default()).await;
    assert_eq!((collected.objects, collected.bytes), (1, 5));
    assert_eq!(f.objects().await, 2);
}

#[tokio::test]
async fn manifests_without_a_tag_go_only_when_asked_and_indexes_before_what_they_name() {
    let f = Fixture::new().await;
    let child = f.push_image(&f.ours, "v1").await.digest;
    let body = index(std::slice::from_ref(&child));
    let parent = f.put(&f.ours, "all", INDEX, &body).await.unwrap().digest;
    f.delete_manifest(&f.ours, "v1").await.unwrap();
    f.pass(2 * GRACE);
    assert_eq!(f.collect(UNTAGGED).await, Collected::default());
    f.delete_manifest(&f.ours, "all").await.unwrap();
    assert_eq!(f.collect(Keep::default()).await, Collected::default());
    let collected = f.collect(UNTAGGED).await;
    assert_eq!((collected.manifests, collected.holdings), (2, 2));
    for digest in [child, parent] {
        assert!(f.manifest(&f.ours, digest.as_str()).await.is_err());
    }
}

#[tokio::test]
async fn what_refers_to_a_manifest_stays_with_it() {
    let f = Fixture::new().await;
    let subject = f.push_image(&f.ours, "v1").await.digest;
    let config = f.push_blob(&f.ours, b"{}").await;
    let mut signature = image(&config, &[]);
    signature["subject"] = serde_json::json!({"mediaType": MANIFEST, "digest": subject, "size": 1});
    let digest = super::fixture::sha256(signature.to_string().as_bytes());
    f.put(&f.ours, digest.as_str(), MANIFEST, &signature)
        .await
        .unwrap();
    f.pass(2 * GRACE);
    assert_eq!(f.collect(UNTAGGED).await, Collected::default());
    f.delete_manifest(&f.ours, subject.as_str()).await.unwrap();
    assert_eq!(f.collect(UNTAGGED).await.manifests, 1);
}

#[tokio::test]
async fn what_a_job_is_still_to_run_stays() {
    let f = Fixture::new().await;
    let digest = f.push_image(&f.ours, "v1").await.digest;
    f.delete_manifest(&f.ours, "v1").await.unwrap();
    f.pass(2 * GRACE);
    let project = f.ours.project;
    let work = format!("{{\"digest\":\"{digest}\"}}");
    let submitted = f.store.ledger.submit(move |tx| {
        let lane = lane::ensure(tx, "test")?;
        let life = Life::new(tx.now(), tx.wall(), 0);
        job::insert(tx, &waiting_job(lane, project, work.clone()), &life)
    });
    let submitted: Result<_, kiln_store::Error> = submitted.await;
    submitted.unwrap();
    assert_eq!(f.collect(UNTAGGED).await, Collected::default());
    f.manifest(&f.ours, digest.as_str()).await.unwrap();
}

fn waiting_job(lane: i64, project: i64, work: String) -> NewJob {
    NewJob {
        public_id: None,
        kind: Kind::Bench,
        lane,
        organization: None,
        project: Some(project),
        report: None,
        spec: None,
        queue: None,
        source_address: None,
        limit_key: None,
        priority: Priority::TEAM,
        work,
        timeouts: Timeouts {
            run: GRACE,
            grace: GRACE,
            lease: GRACE,
            set_up: GRACE,
            pending: None,
        },
        retry: Retry::Never,
        retry_of: None,
        root: None,
        created: Millis(0),
        shared: false,
    }
}
