//! The demo's image: one static program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kiln_client::http_client;
use kiln_image::{
    Client, Credentials, Image, Layout, Progress, Recipe, RegistryUrl, Source, build,
};

use crate::failure::Failure;

const BENCHMARK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/demo-benchmark"));

pub(super) fn pack(directory: &Path) -> Result<Image, Failure> {
    let root = directory.join("image");
    fs::create_dir(&root)?;
    fs::write(root.join("benchmark"), BENCHMARK)?;
    fs::set_permissions(root.join("benchmark"), fs::Permissions::from_mode(0o755))?;
    let broke = |error: &dyn std::error::Error| {
        Failure::unexpected("the image cannot be packed").because(error)
    };
    let layout = Layout::create(directory.join("layout")).map_err(|error| broke(&error))?;
    let recipe = Recipe {
        entrypoint: vec!["/benchmark".to_owned()],
        ..Recipe::new(Source::Directory(root))
    };
    build(&recipe, &layout, None).map_err(|error| broke(&error))
}

pub(super) async fn push(
    image: &Image,
    url: &str,
    project: &str,
    key: &str,
) -> Result<(), Failure> {
    let broke = |error: &dyn std::error::Error| {
        Failure::unexpected("the image cannot be pushed").because(error)
    };
    let registry: RegistryUrl = url.parse().map_err(|error| broke(&error))?;
    let credentials = Credentials::Basic {
        user: "admin@localhost".to_owned(),
        password: key.to_owned(),
    };
    let http = http_client(|builder| builder).map_err(|error| broke(&error))?;
    let client = Client::new(http, registry, credentials);
    let repository = project.parse().map_err(|error| broke(&error))?;
    let tag = "latest".parse().map_err(|error| broke(&error))?;
    client
        .push(image, &repository, &[tag], &Progress::silent())
        .await
        .map_err(|error| broke(&error))?;
    Ok(())
}
