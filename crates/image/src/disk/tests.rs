use std::ffi::OsStr;
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
fn asked(disk: &Path, request: impl AsRef<OsStr>) -> String {
    let output = Command::new("/sbin/debugfs")
        .arg("-R")
        .arg(request)
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

/// Has the reference program look for faults.
fn check(disk: &Path) {
    let checked = Command::new("/sbin/e2fsck")
        .args(["-f", "-n"])
        .arg(disk)
        .output()
        .expect("e2fsprogs is not installed: run `cargo xtask setup`");
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn the_reference_program_finds_no_fault_in_it() {
    let (_bench, disk) = Bench::with_disk();
    check(&disk);
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

/// What is not UTF-8.
fn odd(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A disk of what `fill` makes, in which the reference program finds no fault.
fn disk_of(fill: impl FnOnce(&Path)) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let (root, disk) = (directory.path().join("root"), directory.path().join("disk"));
    fs::create_dir(&root).unwrap();
    fill(&root);
    write(&root, None, &disk).unwrap();
    check(&disk);
    (directory, disk)
}

/// A request about one path, in bytes.
fn asked_of(disk: &Path, verb: &str, path: &[u8]) -> String {
    asked(
        disk,
        OsStr::from_bytes(&[verb.as_bytes(), b" /", path].concat()),
    )
}

#[test]
fn names_that_are_not_text_are_on_it_as_they_are() {
    let (_directory, disk) = disk_of(|root| {
        fs::write(root.join(odd(b"caf\xe9")), "latin").unwrap();
        fs::create_dir_all(root.join(odd(b"plain/\xff/deeper"))).unwrap();
        fs::write(root.join(odd(b"plain/\xff/deeper/\x80\x81")), "deep").unwrap();
        fs::hard_link(
            root.join(odd(b"caf\xe9")),
            root.join(odd(b"plain/\xff/twin")),
        )
        .unwrap();
        let longest = [b'\xfe'; 255];
        fs::write(root.join(odd(&longest)), "long").unwrap();
    });
    for (path, content) in [
        (b"caf\xe9".as_slice(), "latin"),
        (b"plain/\xff/twin", "latin"),
        (b"plain/\xff/deeper/\x80\x81", "deep"),
        (&[b'\xfe'; 255], "long"),
    ] {
        assert_eq!(asked_of(&disk, "cat", path), content, "{path:?}");
    }
    assert!(asked_of(&disk, "stat", b"caf\xe9").contains("Links: 2"));
}

#[test]
fn links_to_what_is_not_text_lead_there() {
    let long = [b"\xe9/".as_slice(); 40].concat();
    let (_directory, disk) = disk_of(|root| {
        symlink(odd(b"caf\xe9"), root.join("short")).unwrap();
        symlink(odd(&long), root.join("long")).unwrap();
        symlink("text", root.join(odd(b"\xff"))).unwrap();
    });
    let fs = mkext4::reader::Fs::open(File::open(&disk).unwrap()).unwrap();
    let target = |name: &[u8]| {
        let link = fs.lookup(mkext4::spec::ROOT_INO, name).unwrap().unwrap();
        fs.symlink_target(link).unwrap()
    };
    assert_eq!(target(b"short"), b"caf\xe9");
    assert_eq!(target(b"long"), long);
    assert_eq!(target(b"\xff"), b"text");
}

#[test]
fn a_name_that_is_not_text_is_found_among_many() {
    // So many long ones that an index of them would have two levels.
    let many = 8_000;
    let text = |number: usize| format!("{number:0>255}");
    let (_directory, disk) = disk_of(|root| {
        for number in 0..many {
            File::create(root.join(text(number))).unwrap();
        }
        fs::write(root.join(odd(b"caf\xe9")), "latin").unwrap();
    });
    assert_eq!(asked_of(&disk, "cat", b"caf\xe9"), "latin");
    let last = text(many - 1);
    assert!(asked_of(&disk, "stat", last.as_bytes()).contains("Type: regular"));
}

#[test]
fn no_name_is_taken_from_another_file() {
    // The third entry is the odd one, and would be called like the first until it has its own name.
    let (_directory, disk) = disk_of(|root| {
        fs::write(root.join("2000"), "text").unwrap();
        fs::write(root.join("a"), "").unwrap();
        fs::write(root.join(odd(b"\xff")), "odd").unwrap();
    });
    assert_eq!(asked_of(&disk, "cat", b"2000"), "text");
    assert_eq!(asked_of(&disk, "cat", b"\xff"), "odd");
}

#[test]
fn the_same_odd_tree_makes_the_same_bytes() {
    let disks = ["one", "two"].map(|_| {
        let (_directory, disk) = disk_of(|root| {
            for name in [b"\xff".as_slice(), b"\xfe", b"text"] {
                File::create(root.join(odd(name)))
                    .and_then(|file| file.set_modified(std::time::UNIX_EPOCH))
                    .unwrap();
            }
            File::open(root)
                .and_then(|root| root.set_modified(std::time::UNIX_EPOCH))
                .unwrap();
        });
        fs::read(disk).unwrap()
    });
    assert!(disks[0] == disks[1], "the disks differ");
}
