//! The image that is unpacked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kiln_image::{Layout, Recipe, Source, Tag, build};

use crate::chamber::base;
use crate::failure::Failure;
use crate::registry::noise;

pub(super) const MEGABYTES: u64 = 200;
pub(super) const TAG: &str = "image";

const FILES: u64 = 2_000;
/// Half of it does not compress, which makes a layer as dense as those of programs and their libraries.
const HALF: usize = 50_000;

/// An OCI layout with one image: many files in some directories, and a static `true`.
pub(super) fn make(place: &Path) -> Result<PathBuf, Failure> {
    let root = base::make(place)?;
    fill(&root).map_err(|source| Failure::io("write the files of an image", source))?;
    let directory = place.join("layout");
    let layout = Layout::create(&directory).map_err(wrong)?;
    let tag: Tag = TAG.parse().map_err(wrong)?;
    build(&Recipe::new(Source::Directory(root)), &layout, Some(&tag)).map_err(wrong)?;
    Ok(directory)
}

fn fill(root: &Path) -> io::Result<()> {
    for number in 0..FILES {
        let directory = root.join(format!("usr/lib/{}", number / 100));
        fs::create_dir_all(&directory)?;
        let mut bytes = noise(number << 20, HALF);
        bytes.resize(2 * HALF, 0);
        fs::write(directory.join(format!("file-{number}")), bytes)?;
    }
    Ok(())
}

pub(super) fn wrong(error: impl std::error::Error) -> Failure {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    Failure::Wrong(format!("{error} {cause}"))
}
