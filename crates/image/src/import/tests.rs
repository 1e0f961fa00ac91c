use std::process::Command;

use super::*;
use crate::testing::sample_image;

fn skopeo(from: &str, to: &str) {
    let output = Command::new("skopeo")
        .args(["copy", "--insecure-policy", from, to])
        .output()
        .expect("skopeo is not installed: run `cargo xtask setup`");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// An image that another program put into an archive comes back with the same layers and configuration.
fn check(kind: &str) {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let tag = "v1".parse().unwrap();
    let image = sample_image(&layout);
    layout.add(image.descriptor(), Some(&tag)).unwrap();
    let archive = directory.path().join("image.tar");
    skopeo(
        &format!("oci:{}:v1", layout.directory().display()),
        &format!("{kind}:{}:example.com/image:v1", archive.display()),
    );
    let into = Layout::create(directory.path().join("into")).unwrap();
    let imported = import(&archive, &into, &Platform::host()).unwrap();
    assert_eq!(imported.config().rootfs, image.config().rootfs);
    assert_eq!(imported.config().config, image.config().config);
    for layer in &imported.manifest().layers {
        assert!(into.has(layer));
    }
}

#[test]
fn what_docker_saves_is_read() {
    check("docker-archive");
}

#[test]
fn a_layout_in_an_archive_is_read() {
    check("oci-archive");
}

#[test]
fn what_is_no_image_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty.tar");
    tar::Builder::new(File::create(&path).unwrap())
        .finish()
        .unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    assert!(matches!(
        import(&path, &layout, &Platform::host()),
        Err(ImportError::NotAnImage(_))
    ));
}

#[test]
fn a_blob_that_is_not_what_its_name_says_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("forged.tar");
    let mut builder = tar::Builder::new(File::create(&path).unwrap());
    let digest = format!("sha256:{}", "0".repeat(64));
    let index = format!(
        r#"{{"schemaVersion":2,"manifests":[{{"mediaType":"{}","digest":"{digest}","size":6}}]}}"#,
        MediaType::OciManifest
    );
    for (name, bytes) in [
        ("index.json", index.as_bytes()),
        (&digest.replace("sha256:", "blobs/sha256/"), b"forged"),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, bytes).unwrap();
    }
    builder.finish().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    assert!(matches!(
        import(&path, &layout, &Platform::host()),
        Err(ImportError::Layout(LayoutError::Digest { .. }))
    ));
}

#[test]
fn links_are_read_from_where_they_stand() {
    assert_eq!(beside("abc/layer.tar", "../def/layer.tar"), "def/layer.tar");
    assert_eq!(beside("abc/layer.tar", "../def.tar"), "def.tar");
    assert_eq!(beside("a", "../../b"), "b");
}
