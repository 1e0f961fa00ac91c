//! Objects in a directory, in memory and in S3: the same behaviour.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use kiln_model::{Digest, Millis};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::*;
use crate::SystemEntropy;
use crate::testing::S3Server;

const MEBIBYTE: usize = 1 << 20;

/// Runs a check on each kind of store.
async fn on_each<F: AsyncFn(&Objects)>(check: F) {
    let directory = TempDir::new().unwrap();
    let s3 = S3Server::start().await;
    for location in [
        directory.path().to_str().unwrap(),
        "memory:",
        &s3.url("some/prefix"),
    ] {
        println!("on {location}");
        check(&open(location)).await;
    }
}

fn open(location: &str) -> Objects {
    Objects::open(location, Arc::new(SystemEntropy)).unwrap()
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| u8::try_from((i * 31 + i / 251) % 256).unwrap())
        .collect()
}

fn digest(bytes: &[u8]) -> Digest {
    Digest::from_hash(&Sha256::digest(bytes)).unwrap()
}

fn kind(error: &Error) -> ObjectErrorKind {
    let Error::Object { kind, .. } = error else {
        panic!("{error}")
    };
    *kind
}

async fn put(objects: &Objects, bytes: &[u8]) -> Stored {
    let mut writer = objects.put_blob(None);
    for piece in bytes.chunks(300_000) {
        writer.write(piece).await.unwrap();
    }
    writer.finish().await.unwrap()
}

#[tokio::test]
async fn what_was_written_is_read_back() {
    on_each(async |objects| {
        // Nothing, less than a block, exactly one, several, and more than one part of S3.
        for length in [
            0,
            1,
            MEBIBYTE,
            MEBIBYTE + 1,
            5 * MEBIBYTE + 3,
            17 * MEBIBYTE,
        ] {
            let bytes = pattern(length);
            let stored = put(objects, &bytes).await;
            assert_eq!(stored.digest, digest(&bytes));
            assert_eq!(
                objects.size(&stored.key).await.unwrap(),
                Some(length as u64)
            );
            let read = objects
                .get_verified(&stored.digest, u64::MAX)
                .await
                .unwrap();
            assert!(read == bytes, "{length} bytes");
        }
    })
    .await;
}

#[tokio::test]
async fn a_blob_that_is_not_what_was_expected_is_refused_and_leaves_nothing() {
    on_each(async |objects| {
        for length in [10, 20 * MEBIBYTE] {
            let expected = digest(b"something else");
            let mut writer = objects.put_blob(Some(expected.clone()));
            writer.write(&pattern(length)).await.unwrap();
            let refused = writer.finish().await.unwrap_err();
            assert_eq!(kind(&refused), ObjectErrorKind::Corrupt);
            assert!(refused.to_string().contains(expected.as_str()), "{refused}");
            assert!(!objects.exists(&ObjectKey::blob(&expected)).await.unwrap());
        }
        assert_eq!(objects.list("", None, 10).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_dropped_writer_leaves_nothing() {
    let directory = TempDir::new().unwrap();
    let objects = open(directory.path().to_str().unwrap());
    let mut writer = objects.put_blob(None);
    writer.write(&pattern(3 * MEBIBYTE)).await.unwrap();
    assert_eq!(files(directory.path()).len(), 1, "it is being written");
    drop(writer);
    assert_eq!(files(directory.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_named_object_is_replaced_whole() {
    on_each(async |objects| {
        let key = ObjectKey::output("p", "j").unwrap();
        for bytes in [pattern(3 * MEBIBYTE), pattern(2 * MEBIBYTE + 1)] {
            let mut writer = objects.put_named(key.clone(), None);
            writer.write(&bytes).await.unwrap();
            let stored = writer.finish().await.unwrap();
            let reader = objects.read_named(&key, &stored.digest).await.unwrap();
            assert!(reader.collect(u64::MAX).await.unwrap() == bytes);
        }
        assert_eq!(objects.list("p", None, 10).await.unwrap().len(), 1);
        assert!(objects.delete(&key).await.unwrap());
        assert!(!objects.delete(&key).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_range_is_read_whatever_blocks_it_touches() {
    on_each(async |objects| {
        let bytes = pattern(6 * MEBIBYTE + 100);
        let stored = put(objects, &bytes).await;
        let length = bytes.len();
        for (start, end) in [
            (0, 1),
            (MEBIBYTE - 1, MEBIBYTE + 1),
            (5, 6 * MEBIBYTE),
            (length - 1, length + 50),
            (length, length + 1),
            (3, 3),
        ] {
            let reader = objects
                .read_range(&stored.key, &stored.digest, start as u64, end as u64)
                .await
                .unwrap();
            let read = reader.collect(u64::MAX).await.unwrap();
            assert!(read == bytes[start..end.min(length)], "{start}..{end}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_reader_that_nobody_waited_for_goes_on_where_it_was() {
    const PATIENCE: usize = 10_000_000;
    on_each(async |objects| {
        let bytes = pattern(9 * MEBIBYTE + 100);
        let stored = put(objects, &bytes).await;
        let mut reader = objects.read_blob(&stored.digest).await.unwrap();
        let mut read = Vec::new();
        for _ in 0..PATIENCE {
            // Whatever is not there yet is given up, and asked for again.
            match reader.next().now_or_never() {
                Some(Ok(Some(piece))) => read.extend_from_slice(&piece),
                Some(Ok(None)) => break,
                Some(Err(error)) => panic!("{error}"),
                None => tokio::task::yield_now().await,
            }
        }
        assert!(read == bytes, "{} of {} bytes", read.len(), bytes.len());
    })
    .await;
}

#[tokio::test]
async fn a_piece_that_is_kept_is_not_written_over() {
    let directory = TempDir::new().unwrap();
    let objects = open(directory.path().to_str().unwrap());
    let bytes = pattern(7 * MEBIBYTE);
    let stored = put(&objects, &bytes).await;
    let mut reader = objects.read_blob(&stored.digest).await.unwrap();
    let mut kept = Vec::new();
    while let Some(piece) = reader.next().await.unwrap() {
        kept.push(piece);
    }
    assert!(kept.concat() == bytes);
}

#[tokio::test]
async fn an_object_that_is_not_there_is_not_found() {
    on_each(async |objects| {
        let missing = objects
            .get_verified(&digest(b"nothing"), 10)
            .await
            .unwrap_err();
        assert_eq!(kind(&missing), ObjectErrorKind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn an_object_over_the_limit_is_not_read_into_memory() {
    let objects = open("memory:");
    let stored = put(&objects, &pattern(100)).await;
    assert!(objects.get_verified(&stored.digest, 99).await.is_err());
    assert!(objects.get_verified(&stored.digest, 100).await.is_ok());
}

#[tokio::test]
async fn a_listing_is_paged_and_shows_objects_only() {
    on_each(async |objects| {
        let mut keys = Vec::new();
        for name in ["a/1", "a/b/2", "a/b-c/3", "a/z", "b/1"] {
            let key = ObjectKey::parse(name).unwrap();
            let mut writer = objects.put_named(key.clone(), None);
            writer.write(&pattern(MEBIBYTE + 1)).await.unwrap();
            writer.finish().await.unwrap();
            keys.push(key);
        }
        let mut seen: Vec<ObjectKey> = Vec::new();
        loop {
            let page = objects.list("a", seen.last(), 1).await.unwrap();
            let Some(entry) = page.into_iter().next() else {
                break;
            };
            assert_eq!(entry.size, 1 << 20 | 1);
            seen.push(entry.key);
        }
        seen.sort();
        keys.retain(|key| key.as_str().starts_with("a/"));
        keys.sort();
        assert_eq!(seen, keys);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_object_takes_its_checksums_with_it() {
    let directory = TempDir::new().unwrap();
    let objects = open(directory.path().to_str().unwrap());
    let stored = put(&objects, &pattern(3 * MEBIBYTE)).await;
    assert_eq!(files(directory.path()).len(), 2);
    assert!(objects.delete(&stored.key).await.unwrap());
    assert_eq!(files(directory.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_flipped_bit_is_found_named_and_never_served() {
    let directory = TempDir::new().unwrap();
    let objects = open(directory.path().to_str().unwrap());
    for (length, at) in [
        (100, 7),
        (9 * MEBIBYTE, 6 * MEBIBYTE + 5),
        (2 * MEBIBYTE, 2 * MEBIBYTE - 1),
    ] {
        let bytes = pattern(length);
        let stored = put(&objects, &bytes).await;
        flip(&directory.path().join(stored.key.as_str()), at);

        let mut reader = objects.read_blob(&stored.digest).await.unwrap();
        let mut served = Vec::new();
        let found = loop {
            match reader.next().await {
                Ok(Some(piece)) => served.extend_from_slice(&piece),
                Ok(None) => panic!("the damage was not found"),
                Err(error) => break error,
            }
        };
        assert_eq!(kind(&found), ObjectErrorKind::Corrupt);
        assert!(found.to_string().contains(stored.key.as_str()), "{found}");
        assert!(served.len() <= at && bytes.starts_with(&served));

        let block = (at / MEBIBYTE * MEBIBYTE) as u64;
        let range = objects
            .read_range(&stored.key, &stored.digest, block, block + 1)
            .await
            .unwrap();
        assert_eq!(
            kind(&range.collect(1).await.unwrap_err()),
            ObjectErrorKind::Corrupt
        );
        assert!(objects.verify(&stored.key, &stored.digest).await.is_err());
    }
}

#[tokio::test]
async fn an_object_that_was_cut_short_is_found_however_it_is_read() {
    let directory = TempDir::new().unwrap();
    let objects = open(directory.path().to_str().unwrap());
    for left in [0, 5, MEBIBYTE, 2 * MEBIBYTE, 2 * MEBIBYTE + 5] {
        let length = 3 * MEBIBYTE;
        let stored = put(&objects, &pattern(length)).await;
        let path = directory.path().join(stored.key.as_str());
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_len(left as u64).unwrap();
        let whole = async {
            let reader = objects.read_blob(&stored.digest).await?;
            reader.collect(u64::MAX).await
        };
        let part = async {
            let (key, end) = (&stored.key, length as u64);
            let reader = objects.read_range(key, &stored.digest, 0, end).await?;
            reader.collect(u64::MAX).await
        };
        for read in [whole.await, part.await] {
            assert_eq!(kind(&read.unwrap_err()), ObjectErrorKind::Corrupt, "{left}");
        }
        objects.delete(&stored.key).await.unwrap();
    }
}

#[tokio::test]
async fn damaged_or_missing_checksums_make_the_object_unreadable_but_named() {
    let directory = TempDir::new().unwrap();
    let objects = open(directory.path().to_str().unwrap());
    let stored = put(&objects, &pattern(3 * MEBIBYTE)).await;
    let checksums = directory
        .path()
        .join(block::checksum_name(&stored.key, &stored.digest));
    flip(&checksums, 3);
    let damaged = objects
        .verify(&stored.key, &stored.digest)
        .await
        .unwrap_err();
    assert!(
        damaged.to_string().contains(stored.key.as_str()),
        "{damaged}"
    );
    std::fs::remove_file(checksums).unwrap();
    let missing = objects
        .verify(&stored.key, &stored.digest)
        .await
        .unwrap_err();
    assert!(
        missing.to_string().contains(stored.key.as_str()),
        "{missing}"
    );
}

#[tokio::test]
async fn what_a_crash_left_behind_is_swept() {
    let directory = TempDir::new().unwrap();
    let objects = open(directory.path().to_str().unwrap());
    let mut writer = objects.put_blob(None);
    writer.write(&pattern(2 * MEBIBYTE)).await.unwrap();
    std::mem::forget(writer);
    let kept = put(&objects, b"kept").await;
    assert_eq!(
        objects.sweep(Millis(1)).await.unwrap(),
        0,
        "it is too young"
    );
    assert_eq!(objects.sweep(Millis::MAX).await.unwrap(), 1);
    assert!(objects.exists(&kept.key).await.unwrap());
    assert_eq!(files(directory.path()).len(), 1);
}

#[test]
fn a_directory_that_cannot_be_made_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let below = file.path().join("objects");
    let refused = Objects::open(below.to_str().unwrap(), Arc::new(SystemEntropy)).unwrap_err();
    assert!(refused.to_string().contains("cannot be used"), "{refused}");
}

fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
}

fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}
