use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use super::*;

/// A tree with one of everything, and the disk made of it.
struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        fs::write(root.join("usr/bin/tool"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(root.join("usr/bin/tool"), fs::Permissions::from_mode(0o750)).unwrap();
        fs::hard_link(root.join("usr/bin/tool"), root.join("usr/again")).unwrap();
        fs::write(root.join("empty"), "").unwrap();
        fs::write(root.join("large"), vec![7; 3 << 20]).unwrap();
        symlink("usr/bin", root.join("bin")).unwrap();
        Self { directory }
    }

    fn write(&self, name: &str) -> PathBuf {
        let disk = self.directory.path().join(name);
        write(&self.directory.path().join("root"), None, &disk).unwrap();
        disk
    }

    fn with_disk() -> (Self, PathBuf) {
        let bench = Self::new();
        let disk = bench.write("disk");
        (bench, disk)
    }
}

/// Asks the reference program.
fn asked(disk: &Path, request: &str) -> String {
    let output = Command::new("/sbin/debugfs")
        .args(["-R", request])
        .arg(disk)
        .output()
        .expect("e2fsprogs is not installed: run `cargo xtask setup`");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_same_tree_makes_the_same_bytes() {
    let bench = Bench::new();
    let [one, two] = ["one", "two"].map(|name| fs::read(bench.write(name)).unwrap());
    assert!(one == two, "the disks differ");
}

#[test]
fn the_reference_program_finds_no_fault_in_it() {
    let (_bench, disk) = Bench::with_disk();
    let checked = Command::new("/sbin/e2fsck")
        .args(["-f", "-n"])
        .arg(&disk)
        .output()
        .expect("e2fsprogs is not installed: run `cargo xtask setup`");
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn files_links_and_modes_are_on_it() {
    let (_bench, disk) = Bench::with_disk();
    assert_eq!(asked(&disk, "cat /usr/again"), "#!/bin/sh\n");
    assert!(asked(&disk, "stat /bin").contains("Fast link dest: \"usr/bin\""));
    let tool = asked(&disk, "stat /usr/bin/tool");
    assert!(tool.contains("Mode:  0750"), "{tool}");
    assert!(tool.contains("Links: 2"), "{tool}");
}

#[test]
fn a_name_that_is_not_text_is_named() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join(OsStr::from_bytes(b"\xff")), "").unwrap();
    let refused = write(&root, None, &directory.path().join("disk"));
    assert!(matches!(refused, Err(DiskError::Name { .. })));
}
