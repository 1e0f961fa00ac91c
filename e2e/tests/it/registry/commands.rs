//! `kiln image` and `kiln registry`.

use std::process::Command;

use kiln_e2e::{Exited, Town, kiln, kiln_with};

fn run(town: &Town, arguments: &[&str]) -> Exited {
    let data = town.data();
    let mut all = arguments.to_vec();
    all.extend(["--data", data.to_str().unwrap()]);
    kiln(&all, "")
}

#[track_caller]
fn succeed(exited: &Exited) -> String {
    assert_eq!(exited.code, Some(0), "{}", exited.stderr);
    exited.stdout.trim().to_owned()
}

/// Builds the same small image and answers its digest.
fn build(town: &Town, output: &str) -> String {
    let root = town.path().join("root");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("hello"), "hello").unwrap();
    let output = town.path().join(output);
    let arguments = [
        "image",
        "build",
        root.to_str().unwrap(),
        "--output",
        output.to_str().unwrap(),
        "--entrypoint",
        "/hello",
        "--cmd",
        "--loud",
        "--env",
        "A=b",
        "--workdir",
        "/tmp",
        "--user",
        "1000",
    ];
    succeed(&kiln(&arguments, ""))
}

#[test]
fn an_image_is_built_the_same_twice() {
    let town = Town::new();
    let first = build(&town, "one");
    assert!(first.starts_with("sha256:"), "{first}");
    assert_eq!(build(&town, "two"), first);
}

#[test]
fn an_image_is_pushed_listed_shown_tagged_pulled_and_removed() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    let digest = build(&town, "layout");
    let layout = town.path().join("layout");
    let layout = layout.to_str().unwrap();
    for _ in 0..2 {
        let pushed = run(&town, &["image", "push", "hello/app:v1", "--from", layout]);
        assert_eq!(succeed(&pushed), digest);
    }
    let tagged = run(&town, &["image", "tag", "hello/app:v1", "v2"]);
    assert_eq!(succeed(&tagged), digest);
    assert_eq!(
        succeed(&run(&town, &["image", "list", "hello/app"])),
        "v1\nv2"
    );
    let listed = succeed(&run(&town, &["image", "list", "hello"]));
    let rows: Vec<Vec<&str>> = listed
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().take(3).collect())
        .collect();
    let expected = ["v1", "v2"].map(|tag| vec!["hello/app", tag, digest.as_str()]);
    assert_eq!(rows, expected, "{listed}");
    let unknown = run(&town, &["image", "list", "nothing"]);
    assert_eq!(unknown.code, Some(22), "{}", unknown.stderr);
    let shown = succeed(&run(&town, &["image", "show", "hello/app:v2", "--json"]));
    assert!(shown.contains(&digest), "{shown}");
    let into = town.path().join("pulled");
    let into = into.to_str().unwrap();
    let pulled = run(&town, &["image", "pull", "hello/app:v2", "--output", into]);
    assert_eq!(succeed(&pulled), digest);
    succeed(&run(&town, &["image", "rm", "hello/app:v1"]));
    assert_eq!(succeed(&run(&town, &["image", "list", "hello/app"])), "v2");
    let gone = run(&town, &["image", "show", "hello/app:v1"]);
    assert_eq!(gone.code, Some(22), "{}", gone.stderr);
    let unnamed = run(&town, &["image", "rm", "hello/app"]);
    assert_eq!(unnamed.code, Some(2));
}

/// Another program, with these variables; it must succeed.
fn other(program: &str, arguments: &[&str], variables: &[(&str, &str)]) {
    let output = Command::new(program)
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}: run `cargo xtask setup`"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {said}");
}

#[test]
fn an_image_is_pushed_from_an_archive_and_from_an_engine() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    build(&town, "layout");
    let path = |name: &str| town.path().join(name).to_str().unwrap().to_owned();
    let (layout, archive) = (format!("oci:{}:latest", path("layout")), path("saved.tar"));
    let saved = format!("docker-archive:{archive}:localhost/hello:v1");
    other("skopeo", &["copy", &layout, &saved], &[]);
    let push = ["image", "push", "hello/archive:v1", "--from", &archive];
    succeed(&run(&town, &push));

    // An engine with storage of its own, so that nothing of this machine is touched.
    let storage = path("storage.conf");
    let places = format!(
        "[storage]\ndriver = \"vfs\"\ngraphroot = {:?}\nrunroot = {:?}\n",
        path("graph"),
        path("run")
    );
    std::fs::write(&storage, places).unwrap();
    let variables = [("CONTAINERS_STORAGE_CONF", storage.as_str())];
    other("podman", &["load", "--input", &archive], &variables);
    let data = path("data");
    let from = "podman:localhost/hello:v1";
    let push = ["image", "push", "hello/engine:v1", "--from", from];
    let push = [&push[..], &["--data", &data]].concat();
    succeed(&kiln_with(&push, "", &variables));

    let listed = succeed(&run(&town, &["image", "list", "hello", "--json"]));
    for name in ["hello/archive", "hello/engine"] {
        assert!(listed.contains(name), "{listed}");
        let into = path(name.rsplit_once('/').unwrap().1);
        let reference = format!("{name}:v1");
        let pull = ["image", "pull", &reference, "--output", &into];
        succeed(&run(&town, &pull));
    }
}

#[test]
fn a_dockerfile_is_built_by_an_engine() {
    let town = Town::new();
    let context = town.path().join("context");
    std::fs::create_dir(&context).unwrap();
    std::fs::write(context.join("hello"), "hello").unwrap();
    let file = context.join("Dockerfile");
    std::fs::write(&file, "FROM scratch\nCOPY hello /hello\nCMD [\"/hello\"]\n").unwrap();
    let output = town.path().join("layout");
    let built = kiln(
        &[
            "image",
            "build",
            context.to_str().unwrap(),
            "--dockerfile",
            file.to_str().unwrap(),
            "--output",
            output.to_str().unwrap(),
        ],
        "",
    );
    assert!(succeed(&built).starts_with("sha256:"));
}

#[test]
fn the_registry_is_looked_after_with_and_without_a_server() {
    let town = Town::new();
    let server = town.server(0, &[]);
    build(&town, "layout");
    let layout = town.path().join("layout");
    let push = [
        "image",
        "push",
        "hello:v1",
        "--from",
        layout.to_str().unwrap(),
    ];
    succeed(&run(&town, &push));
    let over_http = succeed(&run(&town, &["registry", "stats", "--json"]));
    let quota = run(&town, &["registry", "quota", "hello", "--bytes", "1"]);
    assert!(succeed(&quota).ends_with("1 allowed"));
    server.process.kill();
    assert_eq!(
        succeed(&run(&town, &["registry", "stats", "--json"])),
        over_http
    );
    let verified = succeed(&run(&town, &["registry", "verify"]));
    assert_eq!(
        verified.rsplit_once(", ").unwrap().1,
        "0 are damaged",
        "{verified}"
    );
    let quota = succeed(&run(&town, &["registry", "quota", "hello", "--unlimited"]));
    assert!(quota.ends_with("no quota"), "{quota}");
    let gc = ["registry", "gc", "--older-than", "0", "--untagged"];
    let collected = succeed(&run(&town, &gc));
    assert!(
        collected.starts_with("0 uploads, 0 manifests, 0 blobs"),
        "{collected}"
    );
    succeed(&run(&town, &["registry", "verify"]));
}

#[test]
fn a_flipped_bit_is_found_and_never_served() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    build(&town, "layout");
    let layout = town.path().join("layout");
    let push = [
        "image",
        "push",
        "hello:v1",
        "--from",
        layout.to_str().unwrap(),
    ];
    succeed(&run(&town, &push));
    for entry in walk(&town.data().join("objects").join("registry")) {
        let mut bytes = std::fs::read(&entry).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&entry, bytes).unwrap();
    }
    let verified = run(&town, &["registry", "verify"]);
    assert_eq!(verified.code, Some(1));
    assert!(verified.stdout.contains("damaged: sha256:"));
    let into = town.path().join("pulled");
    let pull = [
        "image",
        "pull",
        "hello:v1",
        "--output",
        into.to_str().unwrap(),
    ];
    assert_ne!(run(&town, &pull).code, Some(0));
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files
}
