//! Images in archives, as `docker save` and `podman save` write them.
//!
//! An archive holds an OCI layout (`index.json` and blobs by digest), or what Docker wrote before there was one
//! (`manifest.json`, which names a configuration and plain layers). An archive that holds both is read as a layout.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};

use kiln_model::{Algorithm, Digest};
use serde::Deserialize;

use crate::compression::Decoder;
use crate::limits::MAX_MANIFEST_BYTES;
use crate::{
    Compression, Descriptor, Image, ImageError, ImageIndex, ImageManifest, Layout, LayoutError,
    MediaType, Platform,
};

/// An image has a few hundred; without a limit an archive of empty entries is read for ever.
const MAX_ENTRIES: usize = 100_000;
const BUFFER_BYTES: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{0} is no image archive: it has neither an index.json nor a manifest.json")]
    NotAnImage(PathBuf),
    #[error("the {0} of the archive is not valid JSON of its kind")]
    Json(&'static str, #[source] serde_json::Error),
    #[error("the archive holds {0} images: save one by itself")]
    NotOne(usize),
    #[error("the archive names {0:?} and does not hold it")]
    Missing(String),
    #[error("the archive has more than {MAX_ENTRIES} entries")]
    TooMany,
    #[error("the {0} of the archive is longer than {MAX_MANIFEST_BYTES} bytes")]
    TooLong(String),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Image(#[from] ImageError),
}

/// Copies the one image of an archive into a layout. The image is not listed in the layout's index.
pub fn import(path: &Path, layout: &Layout, platform: &Platform) -> Result<Image, ImportError> {
    let archive = Archive { path };
    let mut documents = BTreeMap::new();
    let mut links = BTreeMap::new();
    archive.walk(|name, entry| {
        let kind = entry.header().entry_type();
        if kind.is_symlink() || kind.is_hard_link() {
            if let Some(target) = entry.link_name().map_err(archive.failed())? {
                let target = target.to_string_lossy();
                // A hard link is written from the root of the archive, a symbolic one from where it stands.
                let target = if kind.is_hard_link() {
                    beside("", &target)
                } else {
                    beside(name, &target)
                };
                links.insert(name.to_owned(), target);
            }
        } else if kind.is_file() && matches!(name, "index.json" | "manifest.json") {
            documents.insert(name.to_owned(), archive.small(name, entry)?);
        }
        Ok(())
    })?;
    if let Some(index) = documents.get("index.json") {
        return from_layout(&archive, index, layout, platform);
    }
    match documents.get("manifest.json") {
        Some(manifest) => from_docker(&archive, manifest, &links, layout),
        None => Err(ImportError::NotAnImage(path.to_owned())),
    }
}

fn from_layout(
    archive: &Archive<'_>,
    index: &[u8],
    layout: &Layout,
    platform: &Platform,
) -> Result<Image, ImportError> {
    let index: ImageIndex =
        serde_json::from_slice(index).map_err(|error| ImportError::Json("index.json", error))?;
    let [image] = index.manifests.as_slice() else {
        return Err(ImportError::NotOne(index.manifests.len()));
    };
    archive.walk(|name, entry| {
        let parts: Vec<_> = name.split('/').collect();
        if let ["blobs", algorithm, hex] = parts.as_slice()
            && entry.header().entry_type().is_file()
            && let Ok(digest) = format!("{algorithm}:{hex}").parse::<Digest>()
        {
            let kind = MediaType::Other("application/octet-stream".to_owned());
            let descriptor = Descriptor::new(kind, digest, entry.size());
            let mut blob = layout.begin_blob(descriptor.digest.algorithm())?;
            archive.copy(entry, &mut blob)?;
            blob.commit_as(&descriptor)?;
        }
        Ok(())
    })?;
    Ok(Image::open(layout, image, platform)?)
}

/// What Docker says an archive holds.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DockerImage {
    config: String,
    layers: Vec<String>,
}

fn from_docker(
    archive: &Archive<'_>,
    manifest: &[u8],
    links: &BTreeMap<String, String>,
    layout: &Layout,
) -> Result<Image, ImportError> {
    let images: Vec<DockerImage> = serde_json::from_slice(manifest)
        .map_err(|error| ImportError::Json("manifest.json", error))?;
    let [image] = images.as_slice() else {
        return Err(ImportError::NotOne(images.len()));
    };
    let mut config = None;
    let mut layers = BTreeMap::new();
    // Layers that are alike are stored once, and the others are links to it.
    let real = |name: &String| links.get(name).unwrap_or(name).clone();
    let wanted: Vec<String> = image.layers.iter().map(real).collect();
    archive.walk(|name, entry| {
        if !entry.header().entry_type().is_file() {
            return Ok(());
        }
        if name == image.config {
            let bytes = archive.small(name, entry)?;
            config = Some(layout.put_blob(MediaType::OciConfig, &bytes)?);
        } else if wanted.iter().any(|layer| layer == name) {
            let stored = archive.layer(entry, layout)?;
            layers.insert(name.to_owned(), stored);
        }
        Ok(())
    })?;
    let missing = |name: &String| ImportError::Missing(name.clone());
    let config = config.ok_or_else(|| missing(&image.config))?;
    let layers = wanted
        .iter()
        .map(|name| layers.get(name).cloned().ok_or_else(|| missing(name)))
        .collect::<Result<_, _>>()?;
    let manifest = ImageManifest::new(config, layers);
    let bytes = serde_json::to_vec(&manifest).expect("a manifest has only text keys");
    let descriptor = layout.put_blob(MediaType::OciManifest, &bytes)?;
    Ok(Image::assemble(layout, descriptor, manifest)?)
}

type Entry<'a> = tar::Entry<'a, Decoder<BufReader<File>>>;

struct Archive<'a> {
    path: &'a Path,
}

impl Archive<'_> {
    /// Shows every entry, in order, with its name as the documents spell it.
    fn walk(
        &self,
        mut each: impl FnMut(&str, &mut Entry<'_>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let file = File::open(self.path).map_err(self.failed())?;
        let plain =
            Decoder::detect(BufReader::with_capacity(BUFFER_BYTES, file)).map_err(self.failed())?;
        let mut archive = tar::Archive::new(plain);
        let entries = archive.entries().map_err(self.failed())?;
        for (count, entry) in entries.enumerate() {
            if count == MAX_ENTRIES {
                return Err(ImportError::TooMany);
            }
            let mut entry = entry.map_err(self.failed())?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            each(name.trim_start_matches("./"), &mut entry)?;
        }
        Ok(())
    }

    fn small(&self, name: &str, entry: &mut Entry<'_>) -> Result<Vec<u8>, ImportError> {
        if entry.size() > MAX_MANIFEST_BYTES {
            return Err(ImportError::TooLong(name.to_owned()));
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(self.failed())?;
        Ok(bytes)
    }

    /// Stores a layer as it is, under the media type that its first bytes tell.
    fn layer(&self, entry: &mut Entry<'_>, layout: &Layout) -> Result<Descriptor, ImportError> {
        let mut start = [0; 4];
        let mut known = 0;
        while known < start.len() {
            match entry.read(&mut start[known..]).map_err(self.failed())? {
                0 => break,
                read => known += read,
            }
        }
        let compression = match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Compression::Zstd,
            _ => Compression::None,
        };
        let mut blob = layout.begin_blob(Algorithm::Sha256)?;
        blob.write_all(&start[..known]).map_err(self.failed())?;
        self.copy(entry, &mut blob)?;
        Ok(blob.commit(MediaType::OciLayer(compression))?)
    }

    fn copy(&self, entry: &mut Entry<'_>, to: &mut impl io::Write) -> Result<(), ImportError> {
        io::copy(entry, to).map(drop).map_err(self.failed())
    }

    fn failed(&self) -> impl Fn(io::Error) -> ImportError + use<> {
        let path = self.path.to_owned();
        move |source| ImportError::Read {
            path: path.clone(),
            source,
        }
    }
}

/// A name that stands in a link of `of`, as the archive spells it.
fn beside(of: &str, target: &str) -> String {
    let mut parts: Vec<_> = of.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests;
