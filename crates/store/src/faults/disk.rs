//! A disk that is really full.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tempfile::TempDir;

use super::{check, open, write};
use crate::{DatabaseErrorKind, Error, ObjectErrorKind};

/// A small file system of its own; unmounted when dropped.
struct SmallDisk {
    directory: TempDir,
}

impl SmallDisk {
    fn new(size: &CStr) -> Self {
        let directory = TempDir::new().unwrap();
        mount(
            "tmpfs",
            directory.path(),
            "tmpfs",
            MountFlags::empty(),
            size,
        )
        .expect(
            "this test mounts a small tmpfs: run it as root, or in a user namespace of its own",
        );
        Self { directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if let Err(error) = unmount(self.path(), UnmountFlags::DETACH) {
            println!("{} stays mounted: {error}", self.path().display());
        }
    }
}

#[test]
fn a_full_disk_is_told_and_survived_and_nothing_acknowledged_is_lost() {
    // Room for the log and for its copy in the database, but only after the ballast is gone.
    let disk = SmallDisk::new(c"size=20m");
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![0; 12 << 20]).unwrap();
    let store = open(disk.path()).unwrap();
    let mut acknowledged = BTreeSet::new();
    let refused = (0..10_000)
        .find(|number| match write(&store, *number, 20_000) {
            Ok(()) => {
                acknowledged.insert(*number);
                false
            }
            Err(Error::Database {
                kind: DatabaseErrorKind::Full,
                ..
            }) => true,
            Err(error) => panic!("{error}"),
        })
        .expect("the disk is small");
    assert!(!acknowledged.is_empty());

    // While it is full, a batch fails as a whole or in part, and never more than it says.
    let batch: Vec<_> = (1..=20)
        .map(|n| (refused + n, write(&store, refused + n, 20_000)))
        .collect();
    acknowledged.extend(
        batch
            .iter()
            .filter(|(_, told)| told.is_ok())
            .map(|(number, _)| *number),
    );

    std::fs::remove_file(ballast).unwrap();
    write(&store, refused, 20_000).unwrap();
    acknowledged.insert(refused);
    store.close();
    check(disk.path(), &acknowledged);
}

#[tokio::test]
async fn an_object_that_does_not_fit_is_refused_and_leaves_its_space() {
    let disk = SmallDisk::new(c"size=8m");
    let root = disk.path().join("objects").display().to_string();
    let objects = crate::Objects::open(&root, std::sync::Arc::new(crate::SystemEntropy)).unwrap();
    let mut writer = objects.put_blob(None);
    let refused = loop {
        match writer.write(&vec![1; 1 << 20]).await {
            // What became of a part is told with the next one.
            Ok(()) => assert!(writer.size() < 10 << 20, "the disk is small"),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(
            refused,
            Error::Object {
                kind: ObjectErrorKind::Full,
                ..
            }
        ),
        "{refused}"
    );
    drop(writer);
    let mut writer = objects.put_blob(None);
    writer.write(&vec![2; 4 << 20]).await.unwrap();
    let stored = writer.finish().await.unwrap();
    objects.verify(&stored.key, &stored.digest).await.unwrap();
}
