//! From a registry to a root file system in one step.

use kiln_model::Digest;

use crate::cache::CacheError;
use crate::layout::LayoutError;
use crate::remote::RemoteError;
use crate::{Cache, Client, Guard, Layout, Platform, Progress, Repository, Version};

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error("unpacking {0} was interrupted")]
    Interrupted(Digest),
}

/// The root file system of an image: from the cache, without asking the registry when the image's
/// own digest is given; else pulled, verified and unpacked. Compressed layers are not kept.
pub async fn fetch(
    cache: &Cache,
    client: &Client,
    repository: &Repository,
    version: &Version,
    platform: &Platform,
    progress: &Progress,
) -> Result<Guard, FetchError> {
    if let Version::Digest(digest) = version
        && let Some(guard) = cache.get(digest)?
    {
        return Ok(guard);
    }
    let digest = client.resolve(repository, version, platform).await?;
    if let Some(guard) = cache.get(&digest)? {
        return Ok(guard);
    }
    let staging = cache.stage()?;
    let layout = Layout::create(staging.path())?;
    let version = Version::Digest(digest.clone());
    let image = client
        .pull(repository, &version, platform, &layout, progress)
        .await?;
    let cache = cache.clone();
    // The staging goes into the thread: were this future dropped, the layers must stay until the
    // unpacking that cannot be interrupted is through with them.
    tokio::task::spawn_blocking(move || {
        let guard = cache.rootfs(&image);
        drop(staging);
        guard
    })
    .await
    .map_err(|_| FetchError::Interrupted(digest))?
    .map_err(FetchError::Cache)
}
