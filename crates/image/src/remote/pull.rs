//! Pulling: the manifest, then its blobs in parallel, each verified while it streams to disk.

use std::io::{self, Write as _};

use bytes::Bytes;
use futures_util::{TryStreamExt as _, stream};
use kiln_model::{Algorithm, Digest};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, RANGE};
use reqwest::{Response, StatusCode};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::activity::within_silence;
use super::client::{Client, Patience, Scope, read_bounded};
use super::progress::{Event, Progress};
use super::{PARALLEL_BLOBS, RemoteError, RemoteErrorKind};
use crate::hashing::digest_of;
use crate::image::{ImageError, choose};
use crate::layout::LayoutError;
use crate::limits::{MAX_INDEX_DEPTH, MAX_MANIFEST_BYTES};
use crate::manifest::Manifest;
use crate::{Descriptor, Image, ImageManifest, Layout, MediaType, Platform, Repository, Version};

/// Chunks between the network and the disk, per blob.
const CHUNKS_AHEAD: usize = 16;

impl Client {
    /// The digest of the image a version means on `platform`.
    pub async fn resolve(
        &self,
        repository: &Repository,
        version: &Version,
        platform: &Platform,
    ) -> Result<Digest, RemoteError> {
        let located = self
            .locate(repository, version, platform)
            .await
            .map_err(self.failed("find", repository, Some(version)))?;
        Ok(located.descriptor.digest)
    }

    /// Pulls an image into a layout; from an index it takes the one for `platform`. What the layout
    /// has is not pulled again. The image is not listed in the layout's index.
    pub async fn pull(
        &self,
        repository: &Repository,
        version: &Version,
        platform: &Platform,
        layout: &Layout,
        progress: &Progress,
    ) -> Result<Image, RemoteError> {
        self.pull_all(repository, version, platform, layout, progress)
            .await
            .map_err(self.failed("pull", repository, Some(version)))
    }

    async fn pull_all(
        &self,
        repository: &Repository,
        version: &Version,
        platform: &Platform,
        layout: &Layout,
        progress: &Progress,
    ) -> Result<Image, RemoteErrorKind> {
        let Located {
            descriptor,
            bytes,
            manifest,
        } = self.locate(repository, version, platform).await?;
        self.check(&manifest)?;
        let mut blobs: Vec<&Descriptor> =
            manifest.layers.iter().chain([&manifest.config]).collect();
        blobs.sort_by(|a, b| a.digest.cmp(&b.digest));
        blobs.dedup_by(|a, b| a.digest == b.digest);
        stream::iter(blobs.into_iter().map(Ok))
            .try_for_each_concurrent(PARALLEL_BLOBS, |blob| {
                self.pull_blob(blob, repository, layout, progress)
            })
            .await?;
        store(layout, &descriptor, &bytes)?;
        let image = Image::assemble(layout, descriptor, manifest)?;
        let offered = image.config().platform();
        // Images made by simple tools may not say what they run on.
        if !offered.architecture.is_empty() && !platform.accepts(&offered) {
            return Err(ImageError::Platform {
                wanted: platform.clone(),
                offered: offered.to_string(),
            }
            .into());
        }
        Ok(image)
    }

    /// Finds the image manifest, through indexes.
    async fn locate(
        &self,
        repository: &Repository,
        version: &Version,
        platform: &Platform,
    ) -> Result<Located, RemoteErrorKind> {
        let mut version = version.clone();
        for _ in 0..=MAX_INDEX_DEPTH {
            let (descriptor, bytes) = self.fetch_manifest(repository, &version).await?;
            match Manifest::parse(&bytes, Some(&descriptor.media_type))? {
                Manifest::Image(manifest) => {
                    return Ok(Located {
                        descriptor,
                        bytes,
                        manifest,
                    });
                }
                Manifest::Index(index) => {
                    version = Version::Digest(choose(&index, platform)?.digest);
                }
            }
        }
        Err(ImageError::TooDeep.into())
    }

    pub(super) async fn fetch_manifest(
        &self,
        repository: &Repository,
        version: &Version,
    ) -> Result<(Descriptor, Vec<u8>), RemoteErrorKind> {
        let mut patience = Patience::new();
        loop {
            match self.try_fetch_manifest(repository, version).await {
                Err(error) => patience.after(error).await?,
                fetched => return fetched,
            }
        }
    }

    async fn try_fetch_manifest(
        &self,
        repository: &Repository,
        version: &Version,
    ) -> Result<(Descriptor, Vec<u8>), RemoteErrorKind> {
        let url = self.url(repository, &format!("manifests/{version}"));
        let scope = Scope {
            repository,
            push: false,
        };
        let response = self
            .send(&scope, &[StatusCode::OK], || {
                self.http
                    .get(url.clone())
                    .header(ACCEPT, MediaType::ACCEPT_MANIFESTS)
            })
            .await?;
        let media_type = content_type(&response)?;
        let limit = usize::try_from(MAX_MANIFEST_BYTES).unwrap_or(usize::MAX);
        let bytes = read_bounded(response, limit)
            .await?
            .ok_or(RemoteErrorKind::ManifestTooLarge)?;
        let algorithm = match version {
            Version::Digest(digest) => digest.algorithm(),
            Version::Tag(_) => Algorithm::Sha256,
        };
        let actual = digest_of(algorithm, &bytes);
        if let Version::Digest(expected) = version
            && actual != *expected
        {
            return Err(RemoteErrorKind::ManifestDigest {
                expected: expected.clone(),
                actual,
            });
        }
        Ok((
            Descriptor::new(media_type, actual, bytes.len() as u64),
            bytes,
        ))
    }

    fn check(&self, manifest: &ImageManifest) -> Result<(), RemoteErrorKind> {
        let count = manifest.layers.len();
        if count > self.limits.layers {
            return Err(RemoteErrorKind::TooManyLayers {
                count,
                limit: self.limits.layers,
            });
        }
        for layer in &manifest.layers {
            if layer.media_type.layer_compression().is_none() {
                return Err(RemoteErrorKind::UnsupportedLayer {
                    layer: layer.digest.clone(),
                    media_type: layer.media_type.clone(),
                });
            }
            if layer.size > self.limits.layer_bytes {
                return Err(RemoteErrorKind::LayerTooLarge {
                    layer: layer.digest.clone(),
                    size: layer.size,
                    limit: self.limits.layer_bytes,
                });
            }
        }
        Ok(())
    }

    async fn pull_blob(
        &self,
        blob: &Descriptor,
        repository: &Repository,
        layout: &Layout,
        progress: &Progress,
    ) -> Result<(), RemoteErrorKind> {
        let (digest, size) = (blob.digest.clone(), blob.size);
        if layout.has(blob) {
            progress.report(Event::Skipped { blob: digest, size });
            return Ok(());
        }
        let mut sink = Sink::open(layout, blob)?;
        let mut patience = Patience::new();
        while let Err(error) = self.fill(&mut sink, blob, repository, progress).await {
            if sink.moved {
                patience.refill();
                sink.moved = false;
            }
            patience.after(error).await?;
        }
        sink.finish().await?;
        progress.report(Event::Finished { blob: digest, size });
        Ok(())
    }

    /// Asks for what is missing of a blob until the sink has it all.
    async fn fill(
        &self,
        sink: &mut Sink,
        blob: &Descriptor,
        repository: &Repository,
        progress: &Progress,
    ) -> Result<(), RemoteErrorKind> {
        let start = sink.received;
        if start == blob.size {
            return Ok(());
        }
        let url = self.url(repository, &format!("blobs/{}", blob.digest));
        let scope = Scope {
            repository,
            push: false,
        };
        let wanted = [StatusCode::OK, StatusCode::PARTIAL_CONTENT];
        let mut response = self
            .send(&scope, &wanted, || {
                let request = self
                    .http
                    .get(url.clone())
                    .header(ACCEPT_ENCODING, "identity");
                if start > 0 {
                    request.header(RANGE, format!("bytes={start}-"))
                } else {
                    request
                }
            })
            .await?;
        let mut to_skip = if response.status() == StatusCode::PARTIAL_CONTENT {
            check_range(&response, start)?;
            0
        } else {
            check_length(&response, blob)?;
            start
        };
        while let Some(mut chunk) = within_silence(response.chunk()).await? {
            let skipped = usize::try_from(to_skip)
                .unwrap_or(usize::MAX)
                .min(chunk.len());
            to_skip -= skipped as u64;
            let fresh = chunk.split_off(skipped);
            let total = sink.received + fresh.len() as u64;
            if total > blob.size {
                return Err(wrong_size(blob, total));
            }
            sink.take(fresh).await?;
            progress.report(Event::Moved {
                blob: blob.digest.clone(),
                bytes: total,
                size: blob.size,
            });
        }
        if sink.received < blob.size {
            return Err(RemoteErrorKind::Truncated {
                digest: blob.digest.clone(),
                expected: blob.size,
                actual: sink.received,
            });
        }
        Ok(())
    }
}

/// An image manifest as the registry served it.
#[derive(Debug)]
struct Located {
    descriptor: Descriptor,
    bytes: Vec<u8>,
    manifest: ImageManifest,
}

/// A blob on its way to disk. Hashing and writing happen on a thread that may block.
#[derive(Debug)]
struct Sink {
    sender: mpsc::Sender<Bytes>,
    writer: JoinHandle<Result<(), LayoutError>>,
    received: u64,
    /// Whether this attempt brought anything.
    moved: bool,
}

impl Sink {
    fn open(layout: &Layout, blob: &Descriptor) -> Result<Self, RemoteErrorKind> {
        let mut file = layout.begin_blob(blob.digest.algorithm())?;
        let (sender, mut receiver) = mpsc::channel::<Bytes>(CHUNKS_AHEAD);
        let (layout, blob) = (layout.clone(), blob.clone());
        let writer = tokio::task::spawn_blocking(move || {
            let mut size = 0;
            while let Some(chunk) = receiver.blocking_recv() {
                size += chunk.len() as u64;
                file.write_all(&chunk)
                    .map_err(|source| written(&layout, source))?;
            }
            // A sender dropped early means that the transfer was given up.
            if size == blob.size {
                file.commit_as(&blob)
            } else {
                Ok(())
            }
        });
        Ok(Self {
            sender,
            writer,
            received: 0,
            moved: false,
        })
    }

    async fn take(&mut self, chunk: Bytes) -> Result<(), RemoteErrorKind> {
        let size = chunk.len() as u64;
        if self.sender.send(chunk).await.is_err() {
            return Err(self.failure().await);
        }
        self.received += size;
        self.moved |= size > 0;
        Ok(())
    }

    async fn finish(self) -> Result<(), RemoteErrorKind> {
        drop(self.sender);
        self.writer
            .await
            .map_err(|_| WRITER_GONE)?
            .map_err(RemoteErrorKind::Layout)
    }

    async fn failure(&mut self) -> RemoteErrorKind {
        match (&mut self.writer).await {
            Ok(Err(error)) => error.into(),
            Ok(Ok(())) | Err(_) => WRITER_GONE,
        }
    }
}

const WRITER_GONE: RemoteErrorKind = RemoteErrorKind::Protocol("the blob's writer stopped");

fn store(layout: &Layout, descriptor: &Descriptor, bytes: &[u8]) -> Result<(), LayoutError> {
    let mut writer = layout.begin_blob(descriptor.digest.algorithm())?;
    writer
        .write_all(bytes)
        .map_err(|source| written(layout, source))?;
    writer.commit_as(descriptor)
}

fn written(layout: &Layout, source: io::Error) -> LayoutError {
    LayoutError::Io {
        action: "write in",
        path: layout.directory().to_owned(),
        source,
    }
}

fn content_type(response: &Response) -> Result<MediaType, RemoteErrorKind> {
    let header = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|header| header.to_str().ok())
        .ok_or(RemoteErrorKind::Protocol(
            "a manifest without a content type",
        ))?;
    let essence = header.split(';').next().unwrap_or_default().trim();
    Ok(MediaType::from(essence.to_owned()))
}

fn check_range(response: &Response, start: u64) -> Result<(), RemoteErrorKind> {
    let range = response
        .headers()
        .get(reqwest::header::CONTENT_RANGE)
        .and_then(|header| header.to_str().ok())
        .unwrap_or_default();
    if range.starts_with(&format!("bytes {start}-")) {
        Ok(())
    } else {
        Err(RemoteErrorKind::Protocol(
            "it sent another range than was asked for",
        ))
    }
}

fn check_length(response: &Response, blob: &Descriptor) -> Result<(), RemoteErrorKind> {
    match response.content_length() {
        Some(length) if length != blob.size => Err(wrong_size(blob, length)),
        _ => Ok(()),
    }
}

fn wrong_size(blob: &Descriptor, actual: u64) -> RemoteErrorKind {
    RemoteErrorKind::BlobSize {
        digest: blob.digest.clone(),
        expected: blob.size,
        actual,
    }
}
