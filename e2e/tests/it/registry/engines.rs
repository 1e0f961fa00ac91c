//! skopeo, podman and buildah against one server: build, push, list, inspect, pull, copy, delete.

use std::path::{Path, PathBuf};
use std::process::Command;

use kiln_e2e::Town;

use crate::engines::{object_url, serve_s3};

/// Programs of an engine with storage of their own, so that nothing of this machine is touched.
struct Engines {
    scratch: PathBuf,
    host: String,
    credentials: String,
}

impl Engines {
    fn new(town: &Town, url: &str) -> Self {
        Self {
            scratch: town.path().join("engines"),
            host: url.strip_prefix("http://").unwrap().to_owned(),
            credentials: format!("admin@localhost:{}", town.admin_key()),
        }
    }

    /// buildah and podman share their storage.
    fn stored(&self, program: &str, arguments: &[&str]) -> String {
        let (root, run) = (self.scratch.join("root"), self.scratch.join("run"));
        let mut command = Command::new(program);
        command.args(["--storage-driver", "vfs"]);
        command.arg("--root").arg(root).arg("--runroot").arg(run);
        finish(command.args(arguments))
    }

    fn image(&self, name: &str) -> String {
        format!("docker://{}/{name}", self.host)
    }
}

fn skopeo(arguments: &[&str]) -> String {
    finish(Command::new("skopeo").args(arguments))
}

fn finish(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?} cannot be run ({error}): run `cargo xtask setup`")
    });
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn build_context(directory: &Path) {
    std::fs::create_dir_all(directory).unwrap();
    std::fs::write(directory.join("hello"), "hello").unwrap();
    let file = "FROM scratch\nCOPY hello /hello\nENTRYPOINT [\"/hello\"]\n";
    std::fs::write(directory.join("Dockerfile"), file).unwrap();
}

/// What each of the three does that a registry notices.
fn tour(engines: &Engines) {
    let context = engines.scratch.join("context");
    build_context(&context);
    let plain = "--tls-verify=false";
    let credentials = engines.credentials.as_str();
    engines.stored(
        "buildah",
        &[
            "build",
            "--isolation",
            "chroot",
            "--tag",
            "localhost/built",
            context.to_str().unwrap(),
        ],
    );
    let built = engines.image("tour/built:v1");
    engines.stored(
        "buildah",
        &[
            "push",
            plain,
            "--creds",
            credentials,
            "localhost/built",
            &built,
        ],
    );
    let inspected = skopeo(&["inspect", plain, "--creds", credentials, &built]);
    assert!(inspected.contains("\"Digest\": \"sha256:"), "{inspected}");

    let name = format!("{}/tour/built:v1", engines.host);
    engines.stored("podman", &["pull", plain, "--creds", credentials, &name]);
    let other = format!("{}/tour/copied:v2", engines.host);
    engines.stored("podman", &["tag", &name, &other]);
    engines.stored("podman", &["push", plain, "--creds", credentials, &other]);

    // From one project to another, through the client.
    let there = engines.image("elsewhere/deep/er:v3");
    skopeo(&[
        "copy",
        "--src-tls-verify=false",
        "--dest-tls-verify=false",
        "--src-creds",
        credentials,
        "--dest-creds",
        credentials,
        &engines.image("tour/copied:v2"),
        &there,
    ]);
    let tags = skopeo(&[
        "list-tags",
        plain,
        "--creds",
        credentials,
        &engines.image("elsewhere/deep/er"),
    ]);
    assert!(tags.contains("\"v3\""), "{tags}");
    skopeo(&["delete", plain, "--creds", credentials, &there]);
    let gone = Command::new("skopeo")
        .args(["inspect", plain, "--creds", credentials, &there])
        .output()
        .unwrap();
    assert!(!gone.status.success(), "it was deleted");
    // What one project deleted, another still has.
    skopeo(&["inspect", plain, "--creds", credentials, &built]);
}

#[test]
fn three_engines_take_the_tour_with_objects_in_a_directory() {
    let town = Town::new();
    let server = town.server(0, &[]);
    tour(&Engines::new(&town, &server.url));
}

#[tokio::test(flavor = "multi_thread")]
async fn three_engines_take_the_tour_with_objects_in_s3() {
    let town = Town::new();
    std::fs::create_dir_all(town.path().join("s3").join("kiln")).unwrap();
    let s3 = serve_s3(&town.path().join("s3")).await;
    let objects = object_url(s3);
    let server = town.server(0, &["--objects", &objects]);
    let engines = Engines::new(&town, &server.url);
    tokio::task::spawn_blocking(move || tour(&engines))
        .await
        .unwrap();
}

#[test]
fn without_credentials_podman_and_buildah_find_nothing_that_is_not_open() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let engines = Engines::new(&town, &server.url);
    let name = format!("{}/tour/built:v1", engines.host);
    for program in ["podman", "buildah"] {
        let (root, run) = (engines.scratch.join("root"), engines.scratch.join("run"));
        let output = Command::new(program)
            .args(["--storage-driver", "vfs"])
            .arg("--root")
            .arg(root)
            .arg("--runroot")
            .arg(run)
            .args(["pull", "--tls-verify=false", &name])
            .output()
            .unwrap();
        assert!(!output.status.success(), "{program}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("name unknown"), "{program}: {said}");
    }
}
