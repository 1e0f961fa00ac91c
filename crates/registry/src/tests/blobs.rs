use super::fixture::{Fixture, MANIFEST, image, sha256};
use crate::Refusal;

#[tokio::test]
async fn a_blob_is_there_for_the_whole_project_and_for_no_other() {
    let f = Fixture::new().await;
    let digest = f.push_blob(&f.ours, b"secret").await;
    assert_eq!(f.read(&f.sibling, &digest).await.unwrap(), b"secret");
    assert!(matches!(
        f.read(&f.theirs, &digest).await,
        Err(Refusal::BlobUnknown)
    ));
}

#[tokio::test]
async fn pushing_the_same_bytes_gives_a_right_to_them() {
    let f = Fixture::new().await;
    let digest = f.push_blob(&f.ours, b"shared").await;
    f.push_blob(&f.theirs, b"shared").await;
    assert_eq!(f.objects().await, 1, "the bytes are stored once");
    f.registry
        .delete_blob(f.ours.project, &digest)
        .await
        .unwrap();
    assert!(matches!(
        f.read(&f.ours, &digest).await,
        Err(Refusal::BlobUnknown)
    ));
    assert_eq!(f.read(&f.theirs, &digest).await.unwrap(), b"shared");
}

#[tokio::test]
async fn any_part_of_a_blob_of_many_pieces_can_be_read() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    let whole: Vec<u8> = (0..100).collect();
    for piece in whole.chunks(33) {
        f.append(&session, None, piece).await.unwrap();
    }
    let digest = sha256(&whole);
    f.registry.finish_upload(&session, &digest).await.unwrap();
    for range in [0..100, 0..1, 32..34, 33..66, 10..99, 99..100, 50..50] {
        let part = f.read_part(&f.ours, &digest, range.clone()).await.unwrap();
        let expected = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
        assert_eq!(part, whole[expected], "{range:?}");
    }
}

#[tokio::test]
async fn a_mount_needs_a_source_that_holds_the_blob() {
    let f = Fixture::new().await;
    let digest = f.push_blob(&f.ours, b"layer").await;
    let (ours, theirs) = (f.ours.project, f.theirs.project);
    assert!(
        !f.registry
            .mount_blob(&digest, theirs, theirs)
            .await
            .unwrap()
    );
    assert!(matches!(
        f.read(&f.theirs, &digest).await,
        Err(Refusal::BlobUnknown)
    ));
    assert!(f.registry.mount_blob(&digest, ours, theirs).await.unwrap());
    assert_eq!(f.read(&f.theirs, &digest).await.unwrap(), b"layer");
}

#[tokio::test]
async fn a_blob_that_a_manifest_names_cannot_be_deleted() {
    let f = Fixture::new().await;
    let (config, layer) = (
        f.push_blob(&f.ours, b"{}").await,
        f.push_blob(&f.ours, b"layer").await,
    );
    let pushed = f
        .put(
            &f.ours,
            "v1",
            MANIFEST,
            &image(&config, std::slice::from_ref(&layer)),
        )
        .await
        .unwrap();
    for digest in [&config, &layer] {
        let refused = f.registry.delete_blob(f.ours.project, digest).await;
        assert!(matches!(refused, Err(Refusal::BlobNamed { by }) if by == pushed.digest));
    }
    f.delete_manifest(&f.ours, pushed.digest.as_str())
        .await
        .unwrap();
    f.registry
        .delete_blob(f.ours.project, &layer)
        .await
        .unwrap();
    assert!(matches!(
        f.registry.delete_blob(f.ours.project, &layer).await,
        Err(Refusal::BlobUnknown)
    ));
}

#[tokio::test]
async fn a_deleted_blob_can_be_pushed_again() {
    let f = Fixture::new().await;
    let digest = f.push_blob(&f.ours, b"again").await;
    f.registry
        .delete_blob(f.ours.project, &digest)
        .await
        .unwrap();
    f.push_blob(&f.ours, b"again").await;
    assert_eq!(f.read(&f.ours, &digest).await.unwrap(), b"again");
}

#[tokio::test]
async fn the_bytes_go_when_the_last_project_lets_go() {
    let f = Fixture::new().await;
    let digest = f.push_blob(&f.ours, b"shared").await;
    f.registry
        .mount_blob(&digest, f.ours.project, f.theirs.project)
        .await
        .unwrap();
    f.registry
        .delete_blob(f.ours.project, &digest)
        .await
        .unwrap();
    assert_eq!(f.objects().await, 1);
    f.registry
        .delete_blob(f.theirs.project, &digest)
        .await
        .unwrap();
    assert_eq!(f.objects().await, 0);
}

#[tokio::test]
async fn a_bit_that_flipped_on_the_disk_is_found_and_never_served() {
    let f = Fixture::new().await;
    let whole = vec![7; 3 << 20];
    let digest = f.push_blob(&f.ours, &whole).await;
    let entry = f
        .store
        .objects
        .list("registry", None, 1)
        .await
        .unwrap()
        .remove(0);
    let path = f.directory.path().join("objects").join(entry.key.as_str());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[2 << 20] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(
        f.read(&f.ours, &digest).await,
        Err(Refusal::Store(_))
    ));
    assert!(
        f.read_part(&f.ours, &digest, (2 << 20)..(2 << 20) + 1)
            .await
            .is_err()
    );
    assert_eq!(f.read_part(&f.ours, &digest, 0..1).await.unwrap(), [7]);
}

#[tokio::test]
async fn a_large_blob_of_several_pieces_is_read_back_whole() {
    let f = Fixture::new().await;
    let session = f.start(&f.ours).await;
    let whole: Vec<u8> = (0..5_000_000_u32)
        .map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[2])
        .collect();
    for piece in whole.chunks(2_100_000) {
        f.append(&session, None, piece).await.unwrap();
    }
    let digest = sha256(&whole);
    f.registry.finish_upload(&session, &digest).await.unwrap();
    assert_eq!(sha256(&f.read(&f.ours, &digest).await.unwrap()), digest);
}
