use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;
use crate::testing::{Layer, census, run, sample_image, sample_tree};
use crate::{Limits, unpack};

fn build_tree(tree: &Path, layout: &Path, compress: bool) -> Image {
    let layout = Layout::create(layout).unwrap();
    let recipe = Recipe {
        compress,
        ..Recipe::new(Source::Directory(tree.to_owned()))
    };
    build(&recipe, &layout, None).unwrap()
}

/// Names, modes, links and contents, without owners and times.
fn essence(directory: &Path) -> Vec<String> {
    census(directory)
        .into_iter()
        .skip(1)
        .map(|line| {
            let mut fields: Vec<_> = line.split(' ').collect();
            let owner = fields.iter().position(|field| field.contains(':')).unwrap();
            fields.drain(owner..owner + 2);
            fields.join(" ")
        })
        .collect()
}

#[test]
fn a_directory_comes_back_as_it_went_in() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    sample_tree(&tree);
    for (name, compress) in [("gzip", true), ("plain", false)] {
        let image = build_tree(&tree, &directory.path().join(name), compress);
        let root = directory.path().join(format!("{name}-root"));
        fs::create_dir(&root).unwrap();
        unpack(&image, &root, &Limits::DEFAULT).unwrap();
        assert_eq!(essence(&root), essence(&tree));
    }
}

#[test]
fn the_same_tree_made_twice_in_another_order_gives_the_same_image() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["b", "a", "a.x", "c"];
    let mut digests = Vec::new();
    for (at, order) in [[0, 1, 2, 3], [3, 2, 1, 0]].into_iter().enumerate() {
        let tree = directory.path().join(format!("tree-{at}"));
        fs::create_dir(&tree).unwrap();
        for index in order {
            fs::create_dir(tree.join(names[index])).unwrap();
            let file = tree.join(names[index]).join("file");
            fs::write(&file, names[index]).unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000 * at as u64);
            fs::File::open(&file).unwrap().set_modified(time).unwrap();
        }
        let image = build_tree(&tree, &directory.path().join(format!("layout-{at}")), true);
        digests.push(image.digest().clone());
    }
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn a_mode_is_part_of_the_image() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    sample_tree(&tree);
    let before = build_tree(&tree, &directory.path().join("layout"), true);
    fs::set_permissions(tree.join("bin/tool"), fs::Permissions::from_mode(0o700)).unwrap();
    let after = build_tree(&tree, &directory.path().join("layout"), true);
    assert_ne!(before.digest(), after.digest());
}

#[test]
fn an_archive_keeps_its_entries_whatever_compresses_it() {
    let directory = tempfile::tempdir().unwrap();
    let plain = Layer::new().file("z", "last first").file("a", "x").finish();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let mut diff_ids = Vec::new();
    for (name, bytes) in [
        ("a.tar", plain.clone()),
        ("a.tar.zst", zstd::encode_all(plain.as_slice(), 1).unwrap()),
    ] {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        let image = build(&Recipe::new(Source::Archive(path)), &layout, None).unwrap();
        diff_ids.extend(image.config().rootfs.diff_ids.clone());
    }
    let expected = crate::hashing::digest_of(kiln_model::Algorithm::Sha256, &plain);
    assert_eq!(diff_ids, [expected.clone(), expected]);
}

#[test]
fn a_socket_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.join("socket")).unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let error = build(&Recipe::new(Source::Directory(tree.clone())), &layout, None).unwrap_err();
    assert!(
        matches!(&error, BuildError::SpecialFile { path } if *path == tree.join("socket")),
        "{error:?}"
    );
}

#[test]
fn an_environment_entry_without_a_key_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    for bad in ["novalue", "=x", "A=\0"] {
        let recipe = Recipe {
            env: vec![bad.into()],
            ..Recipe::new(Source::Directory(directory.path().to_owned()))
        };
        let error = build(&recipe, &layout, None).unwrap_err();
        assert!(matches!(error, BuildError::Environment(_)), "{error:?}");
    }
}

#[test]
fn skopeo_reads_and_copies_what_we_build() {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let image = sample_image(&layout);
    layout
        .add(image.descriptor(), Some(&Tag::latest()))
        .unwrap();
    let source = format!("oci:{}:latest", layout.directory().display());

    let inspected: serde_json::Value =
        serde_json::from_str(&run("skopeo", &["inspect", &source])).unwrap();
    assert_eq!(inspected["Digest"], image.digest().as_str());
    assert_eq!(
        inspected["Layers"][0],
        image.manifest().layers[0].digest.as_str()
    );
    let config: serde_json::Value =
        serde_json::from_str(&run("skopeo", &["inspect", "--config", &source])).unwrap();
    assert_eq!(config["config"]["Entrypoint"][0], "/bin/tool");
    assert_eq!(config["config"]["WorkingDir"], "/etc");

    let copy = format!("dir:{}", directory.path().join("copy").display());
    run("skopeo", &["--insecure-policy", "copy", &source, &copy]);
    let layer = image.manifest().layers[0].digest.hex();
    assert!(directory.path().join("copy").join(layer).is_file());
}

#[test]
fn a_tag_moves_from_image_to_image() {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let tag: Tag = "v1".parse().unwrap();
    let tree = directory.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let recipe = Recipe::new(Source::Directory(tree.clone()));
    build(&recipe, &layout, Some(&tag)).unwrap();
    fs::write(tree.join("new"), "new").unwrap();
    let image = build(&recipe, &layout, Some(&tag)).unwrap();
    assert_eq!(
        layout.find(Some(&tag)).unwrap().unwrap().digest,
        *image.digest()
    );
    assert_eq!(layout.index().unwrap().manifests.len(), 1);
}
