//! The runner's cache, as a runner uses it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kiln_image::{Cache, Image, Layout, Platform};
use kiln_sandbox::{
    Backend as _, CancelToken, ChamberSpec, Command, Limits, Namespaces, Rootfs, Transcript,
};
use kiln_store::SystemClock;

use super::Unpacker;
use super::image::wrong;
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;

const CACHE_BYTES: u64 = 4 << 30;

pub(super) struct Ours {
    image: Image,
}

impl Ours {
    pub(super) fn open(layout: &Path) -> Result<Self, Failure> {
        let layout = Layout::open(layout).map_err(wrong)?;
        let found = layout.find(None).map_err(wrong)?;
        let found = found.ok_or_else(|| Failure::Wrong("the layout is empty".to_owned()))?;
        let image = Image::open(&layout, &found, &Platform::host()).map_err(wrong)?;
        Ok(Self { image })
    }
}

impl Unpacker for Ours {
    fn name(&self) -> &'static str {
        "ours: into the cache, verified, limited and on disk"
    }

    fn unpack(&mut self, to: &Path) -> Result<(), Failure> {
        let cache = Cache::open(to, CACHE_BYTES).map_err(wrong)?;
        cache.rootfs(&self.image).map(drop).map_err(wrong)
    }
}

/// From an image's digest to the end of a command in it, with the image in the cache.
pub(super) fn second_starts(
    layout: &Path,
    cache: &Path,
    count: u32,
) -> Result<Vec<Duration>, Failure> {
    let image = Ours::open(layout)?.image;
    let cache = Cache::open(cache, CACHE_BYTES).map_err(wrong)?;
    drop(cache.rootfs(&image).map_err(wrong)?);
    let backend = Namespaces::new(Arc::new(SystemClock::new()), std::env::temp_dir());
    let cancel = CancelToken::new()?;
    (0..count)
        .map(|_| {
            let watch = Stopwatch::start();
            let cached = cache.get(image.digest()).map_err(wrong)?;
            let cached = cached.ok_or_else(|| Failure::Wrong("it is not cached".to_owned()))?;
            let base = Rootfs::directory(cached.path());
            let mut chamber = backend.prepare(&base, &ChamberSpec::default())?;
            let command = Command::new(["/bin/true"]);
            let mut transcript = Transcript::default();
            let exit = chamber.run(&command, &Limits::default(), &mut transcript, &cancel)?;
            chamber.destroy()?;
            match exit.code() {
                Some(0) => Ok(watch.elapsed()),
                _ => Err(Failure::Wrong(format!("true ended as {:?}", exit.outcome))),
            }
        })
        .collect()
}
