//! An image made of a directory for the occasion.

use std::path::Path;

use kiln_image::{
    Image, Layout, Platform, Recipe, Source as FileSource, Tag, build as build_image,
};
use tempfile::TempDir;

use super::build::engine_build;
use super::remote::{Remote, from_remote, reference};
use super::transfer::{bars, open_layout};
use crate::commands::Context;
use crate::failure::Failure;

/// How much of a digest is in a tag.
const TAG_DIGITS: usize = 12;

/// The image, and the directory it lies in if that is only for now.
#[derive(Debug)]
pub(in crate::commands) struct Made {
    image: Image,
    _scratch: Option<TempDir>,
}

impl Made {
    /// What a directory holds: an image in the OCI layout, a Dockerfile, or else the root of an image.
    pub(in crate::commands) fn of(
        context: &Context<'_>,
        directory: &Path,
    ) -> Result<Self, Failure> {
        if directory.join("oci-layout").is_file() {
            return Ok(Self {
                image: open_layout(directory, None)?,
                _scratch: None,
            });
        }
        let scratch = tempfile::Builder::new().prefix("kiln-image-").tempdir()?;
        let layout = Layout::create(scratch.path())
            .map_err(|error| Failure::unexpected("no scratch directory").because(&error))?;
        let dockerfile = directory.join("Dockerfile");
        let image = if dockerfile.is_file() {
            engine_build(context, &dockerfile, directory)?.import(&layout, &Platform::host())?
        } else {
            context.terminal.progress("packing an image");
            let recipe = Recipe::new(FileSource::Directory(directory.to_owned()));
            let built = build_image(&recipe, &layout, None);
            context.terminal.end_progress();
            built.map_err(|error| {
                let what = format!("{} cannot be made an image of", directory.display());
                Failure::unexpected(what).because(&error)
            })?
        };
        Ok(Self {
            image,
            _scratch: Some(scratch),
        })
    }

    /// How the image is called in a project: the same files have the same name.
    pub(in crate::commands) fn reference(&self, project: &str) -> String {
        format!("{project}:{}@{}", self.tag(), self.image.digest())
    }

    /// Pushes it to the server; what is there already is not sent again.
    pub(in crate::commands) fn push(
        &self,
        context: &Context<'_>,
        project: &str,
    ) -> Result<(), Failure> {
        let reference = reference(project)?;
        let remote = Remote::of(context, &reference)?;
        let tag: Tag = self
            .tag()
            .parse()
            .map_err(|error| Failure::unexpected("the image cannot be tagged").because(&error))?;
        let (tags, progress) = ([tag], bars(context));
        let pushing = remote
            .client
            .push(&self.image, reference.repository(), &tags, &progress);
        remote.runtime.block_on(pushing).map_err(from_remote)?;
        Ok(())
    }

    fn tag(&self) -> String {
        let digits: String = self.image.digest().hex().chars().take(TAG_DIGITS).collect();
        format!("run-{digits}")
    }
}
