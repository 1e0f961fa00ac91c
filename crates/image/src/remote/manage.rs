//! Looking at a repository and changing its tags.

use kiln_model::Digest;
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;

use super::client::{Client, Scope, read_bounded};
use super::{RemoteError, RemoteErrorKind};
use crate::hashing::digest_of;
use crate::{Descriptor, Manifest, Repository, Tag, Version};

/// How many tags are asked for at once.
const PAGE: usize = 1_000;
const MAX_PAGE_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
struct TagList {
    #[serde(default)]
    tags: Option<Vec<String>>,
}

impl Client {
    /// Every tag of a repository, in the registry's order.
    pub async fn tags(&self, repository: &Repository) -> Result<Vec<String>, RemoteError> {
        let failed = self.failed("list", repository, None);
        let mut tags: Vec<String> = Vec::new();
        loop {
            let last = tags.last().map(String::as_str);
            let page = self.tags_after(repository, last).await.map_err(&failed)?;
            // A registry that does not know `last` answers the same again.
            if page.is_empty() || tags.last() == page.last() {
                return Ok(tags);
            }
            let whole = page.len() < PAGE;
            tags.extend(page);
            if whole {
                return Ok(tags);
            }
        }
    }

    /// What a version means: an image, or an index of them.
    pub async fn manifest(
        &self,
        repository: &Repository,
        version: &Version,
    ) -> Result<(Descriptor, Manifest), RemoteError> {
        let failed = self.failed("find", repository, Some(version));
        let (descriptor, bytes) = self
            .fetch_manifest(repository, version)
            .await
            .map_err(&failed)?;
        let manifest = Manifest::parse(&bytes, Some(&descriptor.media_type));
        Ok((descriptor, manifest.map_err(|error| failed(error.into()))?))
    }

    /// Gives a version one more tag; answers the digest both mean now.
    pub async fn tag(
        &self,
        repository: &Repository,
        version: &Version,
        tag: &Tag,
    ) -> Result<Digest, RemoteError> {
        self.tag_as(repository, version, tag)
            .await
            .map_err(self.failed("tag", repository, Some(version)))
    }

    /// Removes a tag, or a manifest with all its tags.
    pub async fn delete(
        &self,
        repository: &Repository,
        version: &Version,
    ) -> Result<(), RemoteError> {
        let url = self.url(repository, &format!("manifests/{version}"));
        let scope = Scope {
            repository,
            push: true,
        };
        self.send(&scope, &[StatusCode::ACCEPTED], || {
            self.http.delete(url.clone())
        })
        .await
        .map(drop)
        .map_err(self.failed("delete", repository, Some(version)))
    }

    async fn tags_after(
        &self,
        repository: &Repository,
        last: Option<&str>,
    ) -> Result<Vec<String>, RemoteErrorKind> {
        let mut url = self.url(repository, "tags/list");
        url.query_pairs_mut().append_pair("n", &PAGE.to_string());
        if let Some(last) = last {
            url.query_pairs_mut().append_pair("last", last);
        }
        let scope = Scope {
            repository,
            push: false,
        };
        let answer = self
            .send(&scope, &[StatusCode::OK], || self.http.get(url.clone()))
            .await?;
        let body = read_bounded(answer, MAX_PAGE_BYTES).await?;
        let unreadable = RemoteErrorKind::Protocol("its list of tags cannot be read");
        let Some(list) = body.and_then(|body| serde_json::from_slice::<TagList>(&body).ok()) else {
            return Err(unreadable);
        };
        Ok(list.tags.unwrap_or_default())
    }

    async fn tag_as(
        &self,
        repository: &Repository,
        version: &Version,
        tag: &Tag,
    ) -> Result<Digest, RemoteErrorKind> {
        let (descriptor, bytes) = self.fetch_manifest(repository, version).await?;
        let url = self.url(repository, &format!("manifests/{tag}"));
        let scope = Scope {
            repository,
            push: true,
        };
        self.send(&scope, &[StatusCode::CREATED], || {
            self.http
                .put(url.clone())
                .header(CONTENT_TYPE, descriptor.media_type.as_str())
                .body(bytes.clone())
        })
        .await?;
        // A registry knows what is pushed by tag under its SHA-256.
        Ok(digest_of(kiln_model::Algorithm::Sha256, &bytes))
    }
}
