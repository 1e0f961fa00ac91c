use super::fixture::Fixture;
use crate::{Verified, VerifyCursor};

async fn verify(f: &Fixture) -> Verified {
    let mut whole = Verified::default();
    let mut cursor = Some(VerifyCursor::Manifests { after: 0 });
    while let Some(from) = cursor {
        let (page, next) = f.registry.verify(from).await.unwrap();
        whole.manifests += page.manifests;
        whole.blobs += page.blobs;
        whole.bytes += page.bytes;
        whole.damaged.extend(page.damaged);
        cursor = next;
    }
    whole
}

#[tokio::test]
async fn everything_is_read_once() {
    let f = Fixture::new().await;
    f.push_image(&f.ours, "v1").await;
    f.push_image(&f.theirs, "v1").await;
    let verified = verify(&f).await;
    assert_eq!((verified.manifests, verified.blobs), (2, 2));
    assert_eq!(verified.damaged, []);
}

#[tokio::test]
async fn a_flipped_bit_and_a_missing_object_are_named() {
    let f = Fixture::new().await;
    let flipped = f.push_blob(&f.ours, b"flipped").await;
    let missing = f.push_blob(&f.ours, b"missing").await;
    for entry in f.store.objects.list("registry", None, 10).await.unwrap() {
        let path = f.directory.path().join("objects").join(entry.key.as_str());
        let bytes = std::fs::read(&path).unwrap();
        if bytes == b"missing" {
            std::fs::remove_file(path).unwrap();
        } else {
            std::fs::write(path, b"flipPed").unwrap();
        }
    }
    let damaged: Vec<_> = verify(&f)
        .await
        .damaged
        .into_iter()
        .map(|damaged| damaged.digest)
        .collect();
    assert_eq!(damaged, [flipped, missing]);
}
