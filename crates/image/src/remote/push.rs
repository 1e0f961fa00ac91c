//! Pushing: blobs first, the manifest last, so that no manifest ever names what is not there.

use std::fs::File;
use std::ops::Range;

use futures_util::{TryStreamExt as _, stream};
use kiln_model::Digest;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, LOCATION, RANGE};
use reqwest::{RequestBuilder, Response, StatusCode, Url};

use super::activity::Activity;
use super::client::{Client, Patience, Scope};
use super::progress::{Event, Progress};
use super::{PARALLEL_BLOBS, RemoteError, RemoteErrorKind, file_stream};
use crate::{Descriptor, Image, Layout, Repository, Tag, Version};

/// Blobs larger than this go in pieces, so that a broken connection costs one piece.
const CHUNKED_FROM_BYTES: u64 = 64 << 20;
const CHUNK_BYTES: u64 = 32 << 20;

const CONTENT_DIGEST: &str = "docker-content-digest";

impl Client {
    /// Pushes an image, by digest and under the tags given. Blobs the repository has are skipped.
    pub async fn push(
        &self,
        image: &Image,
        repository: &Repository,
        tags: &[Tag],
        progress: &Progress,
    ) -> Result<Digest, RemoteError> {
        let version = tags.first().map_or_else(
            || Version::Digest(image.digest().clone()),
            |t| Version::Tag(t.clone()),
        );
        self.push_all(image, repository, tags, progress)
            .await
            .map_err(self.failed("push", repository, Some(&version)))?;
        Ok(image.digest().clone())
    }

    async fn push_all(
        &self,
        image: &Image,
        repository: &Repository,
        tags: &[Tag],
        progress: &Progress,
    ) -> Result<(), RemoteErrorKind> {
        let manifest = image.manifest();
        let mut blobs: Vec<&Descriptor> =
            manifest.layers.iter().chain([&manifest.config]).collect();
        blobs.sort_by(|a, b| a.digest.cmp(&b.digest));
        blobs.dedup_by(|a, b| a.digest == b.digest);
        stream::iter(blobs.into_iter().map(Ok))
            .try_for_each_concurrent(PARALLEL_BLOBS, |blob| {
                self.push_blob(image.layout(), blob, repository, progress)
            })
            .await?;
        let bytes = image.layout().read_blob(image.descriptor())?;
        let by_digest = [Version::Digest(image.digest().clone())];
        let by_tag = tags.iter().cloned().map(Version::Tag);
        for version in by_digest.into_iter().chain(by_tag) {
            self.push_manifest(image, &bytes, repository, &version)
                .await?;
        }
        Ok(())
    }

    async fn push_blob(
        &self,
        layout: &Layout,
        blob: &Descriptor,
        repository: &Repository,
        progress: &Progress,
    ) -> Result<(), RemoteErrorKind> {
        let (digest, size) = (blob.digest.clone(), blob.size);
        let mut patience = Patience::new();
        loop {
            match self.try_push_blob(layout, blob, repository, progress).await {
                Ok(true) => progress.report(Event::Finished { blob: digest, size }),
                Ok(false) => progress.report(Event::Skipped { blob: digest, size }),
                Err(error) => {
                    patience.after(error).await?;
                    continue;
                }
            }
            return Ok(());
        }
    }

    /// Whether the blob had to be sent.
    async fn try_push_blob(
        &self,
        layout: &Layout,
        blob: &Descriptor,
        repository: &Repository,
        progress: &Progress,
    ) -> Result<bool, RemoteErrorKind> {
        let scope = Scope {
            repository,
            push: true,
        };
        let url = self.url(repository, &format!("blobs/{}", blob.digest));
        let present = [StatusCode::OK, StatusCode::NOT_FOUND];
        let head = self
            .send(&scope, &present, || self.http.head(url.clone()))
            .await?;
        if head.status() == StatusCode::OK {
            return Ok(false);
        }
        let url = self.url(repository, "blobs/uploads/");
        let started = self
            .send(&scope, &[StatusCode::ACCEPTED], || {
                self.http.post(url.clone()).header(CONTENT_LENGTH, 0)
            })
            .await?;
        let mut upload = Upload {
            layout,
            blob,
            scope,
            progress,
            activity: Activity::default(),
            at: self.location(&started)?,
        };
        if blob.size > CHUNKED_FROM_BYTES {
            self.upload_in_chunks(&mut upload).await?;
        } else {
            self.upload_whole(&upload).await?;
        }
        Ok(true)
    }

    async fn upload_whole(&self, upload: &Upload<'_>) -> Result<(), RemoteErrorKind> {
        let file = upload.layout.open_blob(upload.blob)?;
        self.send_watched(
            &upload.scope,
            &[StatusCode::CREATED],
            &upload.activity,
            || {
                upload.part(
                    self.http.put(upload.closing_url()),
                    &file,
                    0..upload.blob.size,
                )
            },
        )
        .await?;
        Ok(())
    }

    async fn upload_in_chunks(&self, upload: &mut Upload<'_>) -> Result<(), RemoteErrorKind> {
        let file = upload.layout.open_blob(upload.blob)?;
        let mut patience = Patience::new();
        let mut start = 0;
        while start < upload.blob.size {
            let end = (start + CHUNK_BYTES).min(upload.blob.size);
            match self.upload_chunk(upload, &file, start..end).await {
                Ok(()) => {
                    start = end;
                    patience.refill();
                }
                Err(error) => {
                    patience.after(error).await?;
                    start = self.uploaded(upload).await?;
                }
            }
        }
        self.send(&upload.scope, &[StatusCode::CREATED], || {
            self.http
                .put(upload.closing_url())
                .header(CONTENT_LENGTH, 0)
        })
        .await?;
        Ok(())
    }

    async fn upload_chunk(
        &self,
        upload: &mut Upload<'_>,
        file: &File,
        range: Range<u64>,
    ) -> Result<(), RemoteErrorKind> {
        let content_range = format!("{}-{}", range.start, range.end - 1);
        let response = self
            .send_watched(
                &upload.scope,
                &[StatusCode::ACCEPTED],
                &upload.activity,
                || {
                    let request = self.http.patch(upload.at.clone());
                    upload.part(
                        request.header(CONTENT_RANGE, &content_range),
                        file,
                        range.clone(),
                    )
                },
            )
            .await?;
        upload.at = self.location(&response)?;
        Ok(())
    }

    /// How much of an interrupted upload the registry has.
    async fn uploaded(&self, upload: &mut Upload<'_>) -> Result<u64, RemoteErrorKind> {
        let response = self
            .send(&upload.scope, &[StatusCode::NO_CONTENT], || {
                self.http.get(upload.at.clone())
            })
            .await?;
        upload.at = self.location(&response)?;
        let last = response
            .headers()
            .get(RANGE)
            .and_then(|range| range.to_str().ok())
            .and_then(|range| range.strip_prefix("0-")?.parse::<u64>().ok())
            .ok_or(RemoteErrorKind::Protocol("it does not say how much it has"))?;
        // Registries say `0-0` of an empty upload; nobody sends single bytes.
        let uploaded = if last == 0 { 0 } else { last + 1 };
        if uploaded > upload.blob.size {
            return Err(RemoteErrorKind::Protocol("it has more than was sent"));
        }
        Ok(uploaded)
    }

    async fn push_manifest(
        &self,
        image: &Image,
        bytes: &[u8],
        repository: &Repository,
        version: &Version,
    ) -> Result<(), RemoteErrorKind> {
        let url = self.url(repository, &format!("manifests/{version}"));
        let scope = Scope {
            repository,
            push: true,
        };
        let media_type = image.descriptor().media_type.as_str();
        let mut patience = Patience::new();
        let response = loop {
            let request = || {
                self.http
                    .put(url.clone())
                    .header(CONTENT_TYPE, media_type)
                    .body(bytes.to_vec())
            };
            match self.send(&scope, &[StatusCode::CREATED], request).await {
                Ok(response) => break response,
                Err(error) => patience.after(error).await?,
            }
        };
        match response.headers().get(CONTENT_DIGEST) {
            Some(stored) if stored.as_bytes() != image.digest().as_str().as_bytes() => Err(
                RemoteErrorKind::Protocol("it stored the manifest under another digest"),
            ),
            _ => Ok(()),
        }
    }

    fn location(&self, response: &Response) -> Result<Url, RemoteErrorKind> {
        response
            .headers()
            .get(LOCATION)
            .and_then(|location| location.to_str().ok())
            .and_then(|location| self.registry.resolve(response.url(), location))
            .ok_or(RemoteErrorKind::Protocol(
                "it gave no usable upload location",
            ))
    }
}

/// An upload session.
struct Upload<'a> {
    layout: &'a Layout,
    blob: &'a Descriptor,
    scope: Scope<'a>,
    progress: &'a Progress,
    activity: Activity,
    at: Url,
}

impl Upload<'_> {
    fn closing_url(&self) -> Url {
        let mut url = self.at.clone();
        url.query_pairs_mut()
            .append_pair("digest", self.blob.digest.as_str());
        url
    }

    /// Adds a part of the blob as the body. A file that cannot be opened a second time makes a
    /// request without a body, which the registry refuses.
    fn part(&self, request: RequestBuilder, file: &File, range: Range<u64>) -> RequestBuilder {
        let Ok(file) = file.try_clone() else {
            return request;
        };
        let (start, length) = (range.start, range.end - range.start);
        let (progress, activity) = (self.progress.clone(), self.activity.clone());
        let (blob, size) = (self.blob.digest.clone(), self.blob.size);
        let body = file_stream::body(file, range, move |taken| {
            activity.note();
            progress.report(Event::Moved {
                blob: blob.clone(),
                bytes: start + taken,
                size,
            });
        });
        request
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_LENGTH, length)
            .body(body)
    }
}
