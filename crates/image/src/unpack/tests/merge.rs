//! Layers over layers, as other tools merge them.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use tar::EntryType;

use crate::testing::{Layer, census, image_of, image_of_stored, run};
use crate::{Compression, Layout, Limits, UnpackError, Unpacked, unpack};

/// Unpacks layers and looks at the root.
fn check(layers: impl IntoIterator<Item = Layer>, verify: impl FnOnce(&Path, Unpacked)) {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    let layers: Vec<_> = layers.into_iter().map(Layer::finish).collect();
    let unpacked = unpack(&image_of(&layout, &layers), &root, &Limits::DEFAULT).unwrap();
    verify(&root, unpacked);
}

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap()
}

#[test]
fn a_merged_image_equals_what_umoci_makes_of_it() {
    let base = Layer::new()
        .directory("./")
        .directory("etc/")
        .file("etc/keep", "keep")
        .file("etc/gone", "gone")
        .file("etc/replaced", "old")
        .directory("opaque/")
        .directory("opaque/sub/")
        .file("opaque/sub/low", "low")
        .file("opaque/low", "low")
        .directory("tree/")
        .file("tree/leaf", "leaf")
        .file("was-file", "file")
        .directory("was-directory/")
        .file("was-directory/inner", "inner")
        .directory("usr/")
        .directory("usr/lib/")
        .symlink("lib", "usr/lib")
        .entry(EntryType::Regular, "group-writable", "", 0o664, b"x")
        .entry(EntryType::Directory, "sticky/", "", 0o1777, b"")
        .file("linked", "linked");
    let middle = Layer::new()
        .file("etc/.wh.gone", "")
        .file("etc/replaced", "new")
        .directory("opaque/")
        .file("opaque/.wh..wh..opq", "")
        .file("opaque/high", "high")
        .file(".wh.tree", "")
        .directory("was-file/")
        .file("was-file/inner", "inner")
        .file("was-directory", "file")
        .hard_link("etc/hard", "linked");
    let top = Layer::new()
        .file("lib/through-the-link", "found in usr/lib")
        .extended(&[("mtime", b"1234567890.123456789"), ("uid", b"70000")])
        .file("etc/timed", "timed")
        .hard_link("etc/harder", "etc/hard")
        .symlink("etc/absolute", "/etc/keep");

    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let image = image_of(&layout, &[base.finish(), middle.finish(), top.finish()]);
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    unpack(&image, &root, &Limits::DEFAULT).unwrap();

    let bundle = directory.path().join("bundle");
    let source = format!("{}:latest", layout.directory().display());
    let bundle_text = bundle.display().to_string();
    let is_root = rustix::process::geteuid().is_root();
    let mut arguments = vec!["unpack", "--image", &source, &bundle_text];
    if !is_root {
        arguments.insert(1, "--rootless");
    }
    run("umoci", &arguments);

    let (ours, theirs) = (census(&root), census(&bundle.join("rootfs")));
    // umoci leaves the moment of unpacking as the root's own time.
    assert_eq!(ours[1..], theirs[1..]);
}

#[test]
fn a_directory_no_layer_names_is_plain_and_without_time() {
    check([Layer::new().file("a/b/file", "deep")], |root, _| {
        let metadata = fs::metadata(root.join("a/b")).unwrap();
        assert_eq!((metadata.mode() & 0o7777, metadata.mtime()), (0o755, 0));
    });
}

#[test]
fn every_compression_gives_the_same_tree() {
    let archive = Layer::new()
        .directory("a/")
        .file("a/b", "contents")
        .finish();
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let (front, back) = archive.split_at(700);
    let members = [gzip(front), gzip(back)].concat();
    let frames = [
        zstd::encode_all(front, 1).unwrap(),
        zstd::encode_all(back, 1).unwrap(),
    ]
    .concat();
    let variants = [
        (Compression::None, archive.clone()),
        (Compression::Gzip, gzip(&archive)),
        (Compression::Gzip, members),
        (
            Compression::Zstd,
            zstd::encode_all(archive.as_slice(), 1).unwrap(),
        ),
        (Compression::Zstd, frames),
    ];
    for (compression, stored) in variants {
        let directory = tempfile::tempdir().unwrap();
        let layout = Layout::create(directory.path().join("layout")).unwrap();
        let image = image_of_stored(&layout, &[(compression, stored, archive.clone())]);
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        unpack(&image, &root, &Limits::DEFAULT).unwrap();
        assert_eq!(read(&root, "a/b"), "contents");
    }
}

#[test]
fn an_opaque_mark_spares_its_own_layer_whatever_the_order() {
    let low = Layer::new()
        .file("d/low", "")
        .file("d/sub/low", "")
        .file("d/linked", "x");
    let high = Layer::new()
        .file("d/sub/high", "")
        .hard_link("d/kept", "d/linked")
        .file("d/high", "")
        .file("d/.wh..wh..opq", "");
    check([low, high], |root, _| {
        let names: Vec<_> = census(root)
            .iter()
            .map(|l| l.split(' ').next().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["", "d", "d/high", "d/kept", "d/sub", "d/sub/high"]);
    });
}

#[test]
fn a_whiteout_hides_lower_layers_only() {
    let low = Layer::new().file("f", "low").file("d/low", "");
    let high = Layer::new()
        .file("f", "high")
        .file(".wh.f", "")
        .file("d/high", "")
        .file(".wh.d", "")
        .file(".wh.never-was", "");
    check([low, high], |root, _| {
        assert_eq!(read(root, "f"), "high");
        assert!(root.join("d/high").exists());
        assert!(!root.join("d/low").exists());
    });
}

#[test]
fn a_link_to_itself_keeps_the_file() {
    check(
        [
            Layer::new().file("f", "x"),
            Layer::new().hard_link("f", "f"),
        ],
        |root, _| {
            assert_eq!(read(root, "f"), "x");
        },
    );
}

#[test]
fn modes_times_and_attributes_are_kept_as_far_as_the_policy_allows() {
    let layer = Layer::new()
        .extended(&[
            ("SCHILY.xattr.user.kept", b"line\nline"),
            ("SCHILY.xattr.user.overlay.opaque", b"y"),
            (
                "SCHILY.xattr.security.capability",
                b"\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            ),
            ("SCHILY.xattr.trusted.overlay.opaque", b"y"),
        ])
        .entry(EntryType::Regular, "suid", "", 0o6755, b"x")
        .entry(EntryType::Directory, "setgid/", "", 0o6775, b"")
        .entry(EntryType::Directory, "closed/", "", 0o000, b"")
        .file("closed/inside", "x");
    check([layer], |root, _| {
        let mode =
            |name: &str| fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode("suid"), 0o755);
        assert_eq!(mode("setgid"), 0o2775);
        assert_eq!(mode("closed"), 0);
        assert_eq!(
            fs::metadata(root.join("setgid")).unwrap().mtime(),
            1_000_000_000
        );
        let mut list = vec![0; 1000];
        let length = rustix::fs::listxattr(root.join("suid"), &mut list[..]).unwrap();
        assert_eq!(&list[..length], b"user.kept\0");
        fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    });
}

#[test]
fn devices_and_pipes_are_skipped_and_counted() {
    let low = Layer::new().file("dev/null", "not a device");
    let high = Layer::new()
        .entry(EntryType::Char, "dev/null", "", 0o666, b"")
        .entry(EntryType::Block, "dev/sda", "", 0o666, b"")
        .entry(EntryType::Fifo, "pipe", "", 0o666, b"");
    check([low, high], |root, unpacked| {
        assert_eq!(unpacked.skipped, 3);
        assert_eq!(fs::read_dir(root.join("dev")).unwrap().count(), 0);
        assert!(!root.join("pipe").exists());
    });
}

#[test]
fn layers_that_unpack_to_other_bytes_than_the_image_says_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let (told, given) = (
        Layer::new().file("a", "1").finish(),
        Layer::new().file("a", "2").finish(),
    );
    let image = image_of_stored(&layout, &[(Compression::None, given, told)]);
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    let error = unpack(&image, &root, &Limits::DEFAULT).unwrap_err();
    assert!(matches!(error, UnpackError::DiffId { .. }), "{error:?}");
}
