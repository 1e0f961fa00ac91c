//! One image in a layout, with its manifest and configuration read and checked.

use kiln_model::Digest;

use crate::config::ConfigError;
use crate::layout::LayoutError;
use crate::limits::{MAX_CONFIG_BYTES, MAX_INDEX_DEPTH, MAX_MANIFEST_BYTES};
use crate::manifest::{Manifest, ManifestError};
use crate::{Descriptor, ImageConfig, ImageManifest, Layout, Platform};

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("no image for {wanted}; there is {offered}")]
    Platform { wanted: Platform, offered: String },
    #[error("indexes are nested more than {MAX_INDEX_DEPTH} deep")]
    TooDeep,
}

/// An image whose manifest and configuration are at hand and whose layers lie in a layout.
#[derive(Clone, Debug)]
pub struct Image {
    layout: Layout,
    descriptor: Descriptor,
    manifest: ImageManifest,
    config: ImageConfig,
}

impl Image {
    /// Reads the image a descriptor names; from an index it takes the one for `platform`.
    pub fn open(
        layout: &Layout,
        descriptor: &Descriptor,
        platform: &Platform,
    ) -> Result<Self, ImageError> {
        let mut descriptor = descriptor.clone();
        for _ in 0..=MAX_INDEX_DEPTH {
            if descriptor.size > MAX_MANIFEST_BYTES {
                return Err(ManifestError::TooLarge(descriptor.size).into());
            }
            let bytes = layout.read_blob(&descriptor)?;
            match Manifest::parse(&bytes, Some(&descriptor.media_type))? {
                Manifest::Image(manifest) => return Self::assemble(layout, descriptor, manifest),
                Manifest::Index(index) => {
                    descriptor = choose(&index, platform)?;
                }
            }
        }
        Err(ImageError::TooDeep)
    }

    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The descriptor of the image's manifest.
    pub const fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The digest of the image's manifest: the name of exactly these bytes.
    pub const fn digest(&self) -> &Digest {
        &self.descriptor.digest
    }

    pub const fn manifest(&self) -> &ImageManifest {
        &self.manifest
    }

    pub const fn config(&self) -> &ImageConfig {
        &self.config
    }

    pub(crate) fn assemble(
        layout: &Layout,
        descriptor: Descriptor,
        manifest: ImageManifest,
    ) -> Result<Self, ImageError> {
        if manifest.config.size > MAX_CONFIG_BYTES {
            return Err(ConfigError::TooLarge(manifest.config.size).into());
        }
        let bytes = layout.read_blob(&manifest.config)?;
        let config = ImageConfig::parse(&bytes, manifest.layers.len())?;
        Ok(Self {
            layout: layout.clone(),
            descriptor,
            manifest,
            config,
        })
    }
}

/// The entry of an index for a platform.
pub(crate) fn choose(
    index: &crate::ImageIndex,
    platform: &Platform,
) -> Result<Descriptor, ImageError> {
    index.choose(platform).cloned().ok_or_else(|| {
        let offered: Vec<String> = index
            .manifests
            .iter()
            .filter_map(|m| m.platform.as_ref())
            .map(Platform::to_string)
            .collect();
        let offered = if offered.is_empty() {
            "none with a platform".to_owned()
        } else {
            offered.join(", ")
        };
        ImageError::Platform {
            wanted: platform.clone(),
            offered,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample_image;
    use crate::{ImageIndex, MediaType};

    /// Wraps an image into an index as often as told.
    fn nested(layout: &Layout, depth: usize) -> Descriptor {
        let mut inner = sample_image(layout).descriptor().clone();
        for _ in 0..depth {
            inner.platform = Some(Platform::host());
            let bytes = serde_json::to_vec(&ImageIndex::new(vec![inner])).unwrap();
            inner = layout.put_blob(MediaType::OciIndex, &bytes).unwrap();
        }
        inner
    }

    fn open(depth: usize, platform: &Platform) -> Result<Image, ImageError> {
        let directory = tempfile::tempdir().unwrap();
        let layout = Layout::create(directory.path()).unwrap();
        Image::open(&layout, &nested(&layout, depth), platform)
    }

    #[test]
    fn an_index_leads_to_the_image_for_the_platform() {
        assert_eq!(
            open(2, &Platform::host())
                .unwrap()
                .config()
                .config
                .user
                .as_deref(),
            Some("ann")
        );
    }

    #[test]
    fn indexes_without_end_are_refused() {
        open(MAX_INDEX_DEPTH, &Platform::host()).unwrap();
        let error = open(MAX_INDEX_DEPTH + 1, &Platform::host()).unwrap_err();
        assert!(matches!(error, ImageError::TooDeep), "{error:?}");
    }

    #[test]
    fn another_platform_is_not_there() {
        let error = open(1, &Platform::linux("pdp11")).unwrap_err();
        assert!(matches!(error, ImageError::Platform { .. }), "{error:?}");
    }
}
