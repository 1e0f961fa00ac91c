use std::fmt;

use bytes::Bytes;
use futures_util::stream;
use kiln_model::{Algorithm, Digest};
use sha2::Digest as _;

use super::fixture::{Fixture, body, sha256};
use crate::{Chunk, Refusal};

#[tokio::test]
async fn chunks_in_order_become_a_blob() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    assert_eq!(f.registry.upload_size(&session).await.unwrap(), 0);
    assert_eq!(f.append(&session, Some(0), b"hello ").await.unwrap(), 6);
    assert_eq!(f.append(&session, Some(6), b"big ").await.unwrap(), 10);
    assert_eq!(f.append(&session, None, b"world").await.unwrap(), 15);
    let digest = sha256(b"hello big world");
    f.registry.finish_upload(&session, &digest).await.unwrap();
    assert_eq!(f.read(&f.ours, &digest).await.unwrap(), b"hello big world");
    assert!(matches!(
        f.registry.upload_size(&session).await,
        Err(Refusal::UploadUnknown)
    ));
}

#[tokio::test]
async fn a_chunk_out_of_order_changes_nothing_and_is_told_where_the_upload_ends() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    f.append(&session, None, b"abc").await.unwrap();
    for start in [0, 2, 4] {
        let refused = f.append(&session, Some(start), b"d").await;
        assert!(
            matches!(refused, Err(Refusal::OutOfOrder { size: 3 })),
            "{start}"
        );
    }
    f.append(&session, Some(3), b"d").await.unwrap();
    f.registry
        .finish_upload(&session, &sha256(b"abcd"))
        .await
        .unwrap();
}

#[tokio::test]
async fn of_two_chunks_for_the_same_place_one_wins() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    let (first, second) = tokio::join!(
        f.append(&session, Some(0), b"same size 1"),
        f.append(&session, Some(0), b"same size 2")
    );
    let won: &[u8] = match (&first, &second) {
        (Ok(11), Err(Refusal::OutOfOrder { size: 11 })) => b"same size 1",
        (Err(Refusal::OutOfOrder { size: 11 }), Ok(11)) => b"same size 2",
        other => panic!("{other:?}"),
    };
    f.registry
        .finish_upload(&session, &sha256(won))
        .await
        .unwrap();
    assert_eq!(f.read(&f.ours, &sha256(won)).await.unwrap(), won);
}

#[tokio::test]
async fn an_upload_goes_on_after_a_restart() {
    let mut f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    f.append(&session, None, b"before ").await.unwrap();
    f.restart();
    assert_eq!(f.registry.upload_size(&session).await.unwrap(), 7);
    f.append(&session, Some(7), b"and after").await.unwrap();
    f.restart();
    let digest = sha256(b"before and after");
    f.registry.finish_upload(&session, &digest).await.unwrap();
    assert_eq!(f.read(&f.ours, &digest).await.unwrap(), b"before and after");
}

#[tokio::test]
async fn bytes_that_do_not_have_the_digest_are_refused_and_forgotten() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    f.append(&session, None, b"something").await.unwrap();
    let refused = f
        .registry
        .finish_upload(&session, &sha256(b"something else"))
        .await;
    assert!(matches!(refused, Err(Refusal::WrongDigest { .. })));
    assert!(matches!(
        f.registry.upload_size(&session).await,
        Err(Refusal::UploadUnknown)
    ));
    for digest in [sha256(b"something"), sha256(b"something else")] {
        assert!(matches!(
            f.read(&f.ours, &digest).await,
            Err(Refusal::BlobUnknown)
        ));
    }
}

/// What was hashed while it arrived is not needed to close the upload: the test takes it away to see.
#[tokio::test]
async fn an_upload_is_read_again_only_when_it_closes_with_another_algorithm() {
    let f = Fixture::new().await;
    for (started, closed) in [
        (Algorithm::Sha256, Algorithm::Sha256),
        (Algorithm::Sha512, Algorithm::Sha512),
        (Algorithm::Sha256, Algorithm::Sha512),
        (Algorithm::Sha512, Algorithm::Sha256),
    ] {
        let session = f.start_with(&f.ours, started).await;
        let bytes = format!("{started:?} {closed:?}");
        f.append(&session, None, bytes.as_bytes()).await.unwrap();
        let prefix = format!("registry/{}", session.upload);
        let objects = f.store.objects.list(&prefix, None, 2).await.unwrap();
        for object in &objects {
            f.store.objects.delete(&object.key).await.unwrap();
        }
        let digest = match closed {
            Algorithm::Sha256 => sha256(bytes.as_bytes()),
            Algorithm::Sha512 => Digest::from_hash(&sha2::Sha512::digest(&bytes)).unwrap(),
        };
        let finished = f.registry.finish_upload(&session, &digest).await;
        assert_eq!(objects.len(), 1);
        assert_eq!(finished.is_ok(), started == closed, "{bytes}: {finished:?}");
    }
}

#[tokio::test]
async fn sha_512_names_blobs_too() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    f.append(&session, None, b"long ").await.unwrap();
    f.append(&session, None, b"name").await.unwrap();
    let digest = Digest::from_hash(&sha2::Sha512::digest(b"long name")).unwrap();
    f.registry.finish_upload(&session, &digest).await.unwrap();
    assert_eq!(f.read(&f.ours, &digest).await.unwrap(), b"long name");
    assert!(matches!(
        f.read(&f.ours, &sha256(b"long name")).await,
        Err(Refusal::BlobUnknown)
    ));
}

#[tokio::test]
async fn nothing_is_a_blob_as_well() {
    let f = Fixture::new().await;
    let digest = f.push_blob(&f.ours, b"").await;
    assert_eq!(f.read(&f.ours, &digest).await.unwrap(), b"");
}

#[tokio::test]
async fn a_cancelled_upload_is_gone() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    f.append(&session, None, b"abc").await.unwrap();
    f.registry.cancel_upload(&session).await.unwrap();
    assert_eq!(f.objects().await, 0);
    assert!(matches!(
        f.registry.cancel_upload(&session).await,
        Err(Refusal::UploadUnknown)
    ));
    assert!(matches!(
        f.append(&session, None, b"d").await,
        Err(Refusal::UploadUnknown)
    ));
    let finished = f.registry.finish_upload(&session, &sha256(b"abc")).await;
    assert!(matches!(finished, Err(Refusal::UploadUnknown)));
}

#[tokio::test]
async fn an_upload_belongs_to_its_repository() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    for other in [&f.theirs, &f.sibling] {
        let elsewhere = crate::Session {
            repository: other.clone(),
            upload: session.upload,
        };
        assert!(matches!(
            f.append(&elsewhere, None, b"x").await,
            Err(Refusal::UploadUnknown)
        ));
        assert!(matches!(
            f.registry.cancel_upload(&elsewhere).await,
            Err(Refusal::UploadUnknown)
        ));
    }
    assert_eq!(f.registry.upload_size(&session).await.unwrap(), 0);
}

#[tokio::test]
async fn a_chunk_must_be_as_long_as_it_says() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    for announced in [2, 4] {
        let chunk = Chunk {
            start: Some(0),
            length: Some(announced),
            algorithm: None,
            body: body(b"abc"),
        };
        let refused = f.registry.append(&session, chunk, &*f.entropy).await;
        assert!(
            matches!(refused, Err(Refusal::WrongLength { arrived: 3, .. })),
            "{announced}"
        );
    }
    assert_eq!(f.registry.upload_size(&session).await.unwrap(), 0);
    assert_eq!(f.objects().await, 0);
}

#[derive(Debug)]
struct Cut;
impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the line went dead")
    }
}

#[tokio::test]
async fn a_chunk_that_is_cut_off_leaves_the_upload_as_it_was() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    f.append(&session, None, b"abc").await.unwrap();
    let body = stream::iter([Ok(Bytes::from_static(b"de")), Err(Cut)]);
    let refused = f
        .registry
        .append(
            &session,
            Chunk {
                start: None,
                length: None,
                algorithm: None,
                body,
            },
            &*f.entropy,
        )
        .await;
    assert!(matches!(refused, Err(Refusal::Interrupted(_))));
    assert_eq!(f.registry.upload_size(&session).await.unwrap(), 3);
    assert_eq!(f.objects().await, 1);
    f.append(&session, Some(3), b"def").await.unwrap();
    f.registry
        .finish_upload(&session, &sha256(b"abcdef"))
        .await
        .unwrap();
}
