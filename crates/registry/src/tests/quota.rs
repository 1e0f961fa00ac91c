use super::fixture::{Fixture, sha256};
use crate::{Refusal, Usage};

#[tokio::test]
async fn a_project_holds_as_much_as_its_quota_and_no_more() {
    let f = Fixture::new().await;
    let project = f.ours.project;
    f.registry.set_quota(project, Some(10)).await.unwrap();
    f.push_blob(&f.ours, b"12345").await;
    f.push_blob(&f.ours, b"67890").await;
    let full = Usage {
        bytes: 10,
        quota: Some(10),
    };
    assert_eq!(f.registry.usage(project).await.unwrap(), full);
    let session = f.start(&f.ours).await;
    assert!(matches!(
        f.append(&session, None, b"x").await,
        Err(Refusal::QuotaExceeded)
    ));
    f.registry
        .delete_blob(project, &sha256(b"12345"))
        .await
        .unwrap();
    f.append(&session, None, b"x").await.unwrap();
}

#[tokio::test]
async fn a_blob_that_the_project_has_costs_nothing_twice() {
    let f = Fixture::new().await;
    let digest = f.push_blob(&f.ours, b"12345").await;
    f.push_blob(&f.sibling, b"12345").await;
    let usage = f.registry.usage(f.ours.project).await.unwrap();
    assert_eq!(usage.bytes, 5);
    f.registry.set_quota(f.ours.project, Some(0)).await.unwrap();
    let (ours, theirs) = (f.ours.project, f.theirs.project);
    assert!(f.registry.mount_blob(&digest, ours, ours).await.unwrap());
    f.registry.set_quota(theirs, Some(4)).await.unwrap();
    assert!(matches!(
        f.registry.mount_blob(&digest, ours, theirs).await,
        Err(Refusal::QuotaExceeded)
    ));
}

#[tokio::test]
async fn uploads_that_end_together_do_not_pass_the_quota_together() {
    let f = Fixture::new().await;
    f.registry.set_quota(f.ours.project, Some(5)).await.unwrap();
    let (one, two) = (f.start(&f.ours).await, f.start(&f.ours).await);
    f.append(&one, None, b"11111").await.unwrap();
    f.append(&two, None, b"22222").await.unwrap();
    f.registry
        .finish_upload(&one, &sha256(b"11111"))
        .await
        .unwrap();
    assert!(matches!(
        f.registry.finish_upload(&two, &sha256(b"22222")).await,
        Err(Refusal::QuotaExceeded)
    ));
}
