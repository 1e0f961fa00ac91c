//! An image with a shell in it, made from Debian's static busybox.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kiln_image::{
    Client, Credentials, Image, Layout, Progress, Recipe, RegistryUrl, Source, build,
};

/// Packs busybox, to be started as `sh -c SCRIPT`, and pushes it as `PROJECT:TAG`.
pub async fn shell_image(
    scratch: &Path,
    url: &str,
    key: &str,
    project: &str,
    tag: &str,
    script: &str,
) {
    let image = shell_layout(scratch, tag, script);
    let registry: RegistryUrl = url.parse().expect("a registry");
    let credentials = Credentials::Basic {
        user: "admin@localhost".to_owned(),
        password: key.to_owned(),
    };
    let client = Client::new(reqwest::Client::new(), registry, credentials);
    let repository = project.parse().expect("a repository");
    client
        .push(
            &image,
            &repository,
            &[tag.parse().expect("a tag")],
            &Progress::silent(),
        )
        .await
        .expect("the image is pushed");
}

/// Packs busybox, to be started as `sh -c SCRIPT`, into the OCI layout `layout-TAG`.
pub fn shell_layout(scratch: &Path, tag: &str, script: &str) -> Image {
    let root = scratch.join(format!("root-{tag}"));
    fs::create_dir_all(&root).expect("a directory");
    let busybox = Path::new("/bin/busybox");
    assert!(
        busybox.is_file(),
        "busybox-static is not installed: run `cargo xtask setup`"
    );
    fs::copy(busybox, root.join("sh")).expect("busybox can be read");
    fs::set_permissions(root.join("sh"), fs::Permissions::from_mode(0o755)).expect("our own file");
    let layout = Layout::create(scratch.join(format!("layout-{tag}"))).expect("a layout");
    let recipe = Recipe {
        entrypoint: vec!["/sh".to_owned(), "-c".to_owned(), script.to_owned()],
        ..Recipe::new(Source::Directory(root))
    };
    build(&recipe, &layout, None).expect("an image")
}
