//! The registry, as somebody else's client sees it.

use std::process::Command;

use kiln_e2e::Town;
use kiln_image::{Layout, Recipe, Source, build};

fn skopeo(arguments: &[&str]) -> String {
    let output = Command::new("skopeo")
        .args(arguments)
        .output()
        .expect("skopeo is not installed: run `cargo xtask setup`");
    assert!(
        output.status.success(),
        "skopeo {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn skopeo_pushes_lists_and_pulls_the_same_image() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let host = server.url.strip_prefix("http://").unwrap();
    let root = town.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("hello"), "hello").unwrap();
    let layout = Layout::create(town.path().join("layout")).unwrap();
    let tag = "latest".parse().unwrap();
    let image = build(&Recipe::new(Source::Directory(root)), &layout, Some(&tag)).unwrap();

    let credentials = format!("admin@localhost:{}", town.admin_key());
    let local = format!("oci:{}:latest", town.path().join("layout").display());
    let remote = format!("docker://{host}/greeting:latest");
    skopeo(&[
        "copy",
        "--dest-tls-verify=false",
        "--dest-creds",
        &credentials,
        &local,
        &remote,
    ]);

    let tags = skopeo(&[
        "list-tags",
        "--tls-verify=false",
        "--creds",
        &credentials,
        &format!("docker://{host}/greeting"),
    ]);
    assert!(tags.contains("latest"), "{tags}");
    let inspected = skopeo(&[
        "inspect",
        "--tls-verify=false",
        "--creds",
        &credentials,
        &remote,
    ]);
    assert!(inspected.contains(image.digest().as_str()), "{inspected}");

    let back = format!("oci:{}:latest", town.path().join("back").display());
    skopeo(&[
        "copy",
        "--src-tls-verify=false",
        "--src-creds",
        &credentials,
        &remote,
        &back,
    ]);
    let pulled = Layout::open(town.path().join("back")).unwrap();
    assert!(
        pulled.has(image.descriptor()),
        "the manifest came back as it went"
    );

    // The same image in Docker's own format.
    let docker = format!("docker://{host}/greeting:docker");
    skopeo(&[
        "copy",
        "--format",
        "v2s2",
        "--dest-tls-verify=false",
        "--dest-creds",
        &credentials,
        &local,
        &docker,
    ]);
    let raw = [
        "inspect",
        "--raw",
        "--tls-verify=false",
        "--creds",
        &credentials,
        &docker,
    ];
    let raw = skopeo(&raw);
    assert!(
        raw.contains("application/vnd.docker.distribution.manifest.v2+json"),
        "{raw}"
    );
}

#[test]
fn a_stranger_neither_pushes_nor_pulls() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let host = server.url.strip_prefix("http://").unwrap();
    let output = Command::new("skopeo")
        .args(["inspect", "--tls-verify=false", "--no-creds"])
        .arg(format!("docker://{host}/greeting:latest"))
        .output()
        .unwrap();
    assert!(!output.status.success());
}
