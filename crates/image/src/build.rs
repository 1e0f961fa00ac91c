//! Building an image: one layer from a directory or an archive, a configuration, a manifest.
//!
//! The bytes depend only on names, contents, modes and links of what goes in: names are sorted,
//! owners are 0:0, times are zero, and nothing of the host is recorded.

mod layer;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use crate::config::{Execution, RootFileSystem};
use crate::image::ImageError;
use crate::layout::LayoutError;
use crate::{Compression, Image, ImageConfig, ImageManifest, Layout, MediaType, Platform, Tag};

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is a socket, a pipe or a device: an image holds files, directories and links")]
    SpecialFile { path: PathBuf },
    #[error("{path} changed while it was read")]
    Changed { path: PathBuf },
    #[error("cannot write the layer")]
    Write(#[source] io::Error),
    #[error("environment entry {0:?} is not KEY=value")]
    Environment(String),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Image(#[from] ImageError),
}

/// Where the layer comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A directory becomes the root of the image.
    Directory(PathBuf),
    /// A tar archive, plain or compressed, is a layer already: its entries are kept as they are.
    Archive(PathBuf),
}

/// What to build.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub source: Source,
    /// How the layer is stored: gzip or not at all.
    pub compress: bool,
    pub platform: Platform,
    pub entrypoint: Vec<String>,
    pub cmd: Vec<String>,
    /// `KEY=value` each.
    pub env: Vec<String>,
    pub workdir: Option<String>,
    pub user: Option<String>,
    pub labels: BTreeMap<String, String>,
}

impl Recipe {
    /// A gzip layer for this host's platform and nothing else said.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            compress: true,
            platform: Platform::host(),
            entrypoint: Vec::new(),
            cmd: Vec::new(),
            env: Vec::new(),
            workdir: None,
            user: None,
            labels: BTreeMap::new(),
        }
    }
}

/// Builds the image into a layout and lists it there, under a tag if given.
pub fn build(recipe: &Recipe, layout: &Layout, tag: Option<&Tag>) -> Result<Image, BuildError> {
    if let Some(bad) = recipe.env.iter().find(|entry| !is_environment_entry(entry)) {
        return Err(BuildError::Environment(bad.clone()));
    }
    let compression = if recipe.compress {
        Compression::Gzip
    } else {
        Compression::None
    };
    let (layer, diff_id) = layer::write(&recipe.source, compression, layout)?;
    let config = ImageConfig {
        architecture: recipe.platform.architecture.clone(),
        os: recipe.platform.os.clone(),
        variant: recipe.platform.variant.clone(),
        config: Execution {
            user: recipe.user.clone(),
            env: unless_empty(&recipe.env),
            entrypoint: unless_empty(&recipe.entrypoint),
            cmd: unless_empty(&recipe.cmd),
            working_dir: recipe.workdir.clone(),
            labels: (!recipe.labels.is_empty()).then(|| recipe.labels.clone()),
        },
        rootfs: RootFileSystem {
            diff_ids: vec![diff_id],
            ..RootFileSystem::default()
        },
    };
    let bytes = serde_json::to_vec(&config).expect("a configuration has only text keys");
    let config = layout.put_blob(MediaType::OciConfig, &bytes)?;
    let manifest = ImageManifest::new(config, vec![layer]);
    let bytes = serde_json::to_vec(&manifest).expect("a manifest has only text keys");
    let mut descriptor = layout.put_blob(MediaType::OciManifest, &bytes)?;
    descriptor.platform = Some(recipe.platform.clone());
    layout.add(&descriptor, tag)?;
    Ok(Image::assemble(layout, descriptor, manifest)?)
}

fn is_environment_entry(entry: &str) -> bool {
    entry
        .split_once('=')
        .is_some_and(|(key, _)| !key.is_empty())
        && !entry.contains('\0')
}

fn unless_empty(list: &[String]) -> Option<Vec<String>> {
    (!list.is_empty()).then(|| list.to_vec())
}

#[cfg(test)]
mod tests;
