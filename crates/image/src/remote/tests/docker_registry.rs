//! Against Debian's registry, a server none of ours.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::testing::{Layer, http_client, image_of, run, sample_image};
use crate::{
    Cache, Client, Credentials, Event, Layout, Limits, MediaType, Overrides, Platform, Progress,
    RemoteErrorKind, Repository, Tag, Version, fetch, unpack,
};

struct Registry {
    process: Child,
    address: String,
    _directory: tempfile::TempDir,
}

impl Registry {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = directory.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: info}}\nstorage: {{filesystem: {{rootdirectory: {:?}}}}}\nhttp: {{addr: \"127.0.0.1:0\"}}\n",
            directory.path().join("data")
        );
        std::fs::write(&config, text).unwrap();
        let mut process = Command::new("docker-registry")
            .arg("serve")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("docker-registry: {error}: run `cargo xtask setup`"));
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert_ne!(
                log.read_line(&mut line).unwrap(),
                0,
                "docker-registry stopped"
            );
            if let Some((_, rest)) = line.split_once("listening on ") {
                break rest.split(['"', ' ', ',']).next().unwrap().to_owned();
            }
        };
        // Its log has to be read, or it stops when the pipe is full.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self {
            process,
            address,
            _directory: directory,
        }
    }

    fn client(&self) -> Client {
        let url = format!("http://{}", self.address).parse().unwrap();
        Client::new(http_client(), url, Credentials::Anonymous)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

fn recorder() -> (Progress, Arc<Mutex<Vec<Event>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    (
        Progress::new(move |event| seen.lock().unwrap().push(event)),
        events,
    )
}

#[tokio::test]
async fn an_image_goes_out_and_comes_back_as_a_root_file_system() {
    let registry = Registry::start();
    let client = registry.client();
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let image = sample_image(&layout);
    let repository: Repository = "team/app".parse().unwrap();
    let tag: Tag = "v1".parse().unwrap();

    let digest = client
        .push(
            &image,
            &repository,
            std::slice::from_ref(&tag),
            &Progress::silent(),
        )
        .await
        .unwrap();
    let cache = Cache::open(directory.path().join("cache"), 1 << 30).unwrap();
    let platform = Platform::host();
    let guard = fetch(
        &cache,
        &client,
        &repository,
        &Version::Tag(tag),
        &platform,
        &Progress::silent(),
    )
    .await
    .unwrap();

    assert_eq!(*guard.digest(), digest);
    let tool = std::fs::read_to_string(guard.path().join("bin/tool")).unwrap();
    assert_eq!(tool, "#!/bin/sh\necho hello\n");
    let command =
        crate::Command::resolve(guard.config(), &Overrides::default(), guard.path()).unwrap();
    assert_eq!(command.argv, ["/bin/tool", "--default"]);
    assert_eq!(command.workdir, "/etc");
    assert_eq!(
        (command.identity.uid, command.identity.groups),
        (1000, vec![29])
    );
}

#[tokio::test]
async fn what_the_registry_has_is_not_sent_again() {
    let registry = Registry::start();
    let client = registry.client();
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    let image = sample_image(&layout);
    let repository: Repository = "app".parse().unwrap();
    client
        .push(&image, &repository, &[], &Progress::silent())
        .await
        .unwrap();

    let (progress, events) = recorder();
    client
        .push(&image, &repository, &[], &progress)
        .await
        .unwrap();

    let events = events.lock().unwrap();
    assert_eq!(events.len(), 2);
    assert!(
        events
            .iter()
            .all(|event| matches!(event, Event::Skipped { .. })),
        "{events:?}"
    );
}

#[tokio::test]
async fn a_missing_image_is_named_in_the_error() {
    let registry = Registry::start();
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    let repository: Repository = "nobody/nothing".parse().unwrap();
    let version = Version::Tag("v9".parse().unwrap());
    let error = registry
        .client()
        .pull(
            &repository,
            &version,
            &Platform::host(),
            &layout,
            &Progress::silent(),
        )
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot pull {}/nobody/nothing:v9", registry.address)
    );
    assert!(
        matches!(*error.kind, RemoteErrorKind::NotFound(_)),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_large_blob_goes_in_pieces_and_skopeo_reads_it() {
    let registry = Registry::start();
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let archive = Layer::new()
        .entry(
            tar::EntryType::Regular,
            "large",
            "",
            0o644,
            &vec![7; 65 << 20],
        )
        .finish();
    let image = image_of(&layout, &[archive]);
    let repository: Repository = "large".parse().unwrap();
    let (progress, events) = recorder();
    registry
        .client()
        .push(&image, &repository, &[Tag::latest()], &progress)
        .await
        .unwrap();

    let size = image.manifest().layers[0].size;
    let sent = events.lock().unwrap().iter().any(
        |event| matches!(event, Event::Moved { bytes, size: all, .. } if *bytes == size && *all == size),
    );
    assert!(sent, "the last piece was reported");
    let source = format!("docker://{}/large:latest", registry.address);
    let inspected = run("skopeo", &["inspect", "--tls-verify=false", &source]);
    assert!(inspected.contains(image.digest().as_str()), "{inspected}");
}

#[tokio::test]
async fn what_skopeo_pushed_can_be_pulled() {
    let registry = Registry::start();
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path().join("layout")).unwrap();
    let image = sample_image(&layout);
    layout
        .add(image.descriptor(), Some(&Tag::latest()))
        .unwrap();
    let source = format!("oci:{}:latest", layout.directory().display());
    let target = format!("docker://{}/app:docker", registry.address);
    let flags = [
        "--insecure-policy",
        "copy",
        "--dest-tls-verify=false",
        "--format",
        "v2s2",
    ];
    run("skopeo", &[flags.as_slice(), &[&source, &target]].concat());

    let pulled = Layout::create(directory.path().join("pulled")).unwrap();
    let repository: Repository = "app".parse().unwrap();
    let version = Version::Tag("docker".parse().unwrap());
    let image = registry
        .client()
        .pull(
            &repository,
            &version,
            &Platform::host(),
            &pulled,
            &Progress::silent(),
        )
        .await
        .unwrap();
    assert_eq!(image.descriptor().media_type, MediaType::DockerManifest);
    let root = directory.path().join("root");
    std::fs::create_dir(&root).unwrap();
    unpack(&image, &root, &Limits::DEFAULT).unwrap();
    assert!(root.join("bin/tool").is_file());
}
