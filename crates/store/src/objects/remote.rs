//! Objects in S3, or in memory for tests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use kiln_model::Millis;
use object_store::aws::AmazonS3Builder;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{
    ClientOptions, MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig,
};

use super::failure::{object_error, remote_error};
use super::key::STAGING;
use super::place::S3Address;
use crate::{Error, ObjectErrorKind};

/// What S3 copies in one request; more takes a multipart copy.
const LONGEST_COPY: u64 = 5 << 30;
/// How much is copied at a time when S3 cannot do it in one.
const COPY_PIECE: u64 = 64 << 20;
/// A request without an answer for this long is tried again.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const RETRIES: usize = 4;

#[derive(Debug)]
pub(super) struct Remote {
    store: Arc<dyn ObjectStore>,
}

impl Remote {
    pub(super) fn memory() -> Self {
        Self {
            store: Arc::new(InMemory::new()),
        }
    }

    pub(super) fn s3(address: &S3Address) -> Result<Self, Error> {
        let retry = RetryConfig {
            max_retries: RETRIES,
            ..RetryConfig::default()
        };
        let options = ClientOptions::new()
            .with_timeout(REQUEST_TIMEOUT)
            .with_connect_timeout(CONNECT_TIMEOUT);
        let mut builder = AmazonS3Builder::from_env()
            .with_retry(retry)
            .with_client_options(options)
            .with_bucket_name(&address.bucket);
        if let Some(endpoint) = &address.endpoint {
            builder = builder
                .with_endpoint(endpoint)
                .with_allow_http(endpoint.starts_with("http://"));
        }
        if let Some(region) = &address.region {
            builder = builder.with_region(region);
        }
        if let Some(key) = &address.access_key_id {
            builder = builder.with_access_key_id(key);
        }
        if let Some(secret) = &address.secret_access_key {
            builder = builder.with_secret_access_key(secret);
        }
        if address.path_style {
            builder = builder.with_virtual_hosted_style_request(false);
        }
        let store = builder.build().map_err(|error| {
            Error::Refused(format!(
                "the bucket {} cannot be used: {error}",
                address.bucket
            ))
        })?;
        Ok(Self {
            store: if address.prefix.is_empty() {
                Arc::new(store)
            } else {
                Arc::new(PrefixStore::new(store, address.prefix.as_str()))
            },
        })
    }

    /// Puts a small object in one request.
    pub(super) async fn put(&self, name: &str, bytes: Bytes) -> Result<(), Error> {
        let put = self
            .store
            .put(&path(name)?, PutPayload::from_bytes(bytes))
            .await;
        put.map(drop).map_err(|error| remote_error(name, &error))
    }

    /// Begins an object that nobody sees before it is completed.
    pub(super) async fn begin(&self, name: String) -> Result<PartUpload, Error> {
        let upload = self.store.put_multipart(&path(&name)?).await;
        let upload = upload.map_err(|error| remote_error(&name, &error))?;
        Ok(PartUpload {
            name,
            upload: Some(upload),
        })
    }

    /// Moves a completed object to its name.
    pub(super) async fn rename(&self, from: &str, to: &str, size: u64) -> Result<(), Error> {
        if size <= LONGEST_COPY {
            let copied = self.store.copy(&path(from)?, &path(to)?).await;
            copied.map_err(|error| remote_error(to, &error))?;
        } else {
            let mut upload = self.begin(to.to_owned()).await?;
            let mut start = 0;
            while start < size {
                let length = COPY_PIECE.min(size - start);
                upload
                    .write(self.read_at(from, start, length).await?)
                    .await?;
                start += length;
            }
            upload.complete().await?;
        }
        self.delete(from).await.map(drop)
    }

    pub(super) async fn size(&self, name: &str) -> Result<Option<u64>, Error> {
        match self.store.head(&path(name)?).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(remote_error(name, &error)),
        }
    }

    pub(super) async fn read_at(
        &self,
        name: &str,
        start: u64,
        length: u64,
    ) -> Result<Bytes, Error> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        let bytes = self
            .store
            .get_range(&path(name)?, start..start + length)
            .await;
        let bytes = bytes.map_err(|error| remote_error(name, &error))?;
        if bytes.len() as u64 == length {
            return Ok(bytes);
        }
        Err(object_error(
            ObjectErrorKind::Corrupt,
            name,
            "it is shorter than it was",
        ))
    }

    pub(super) async fn delete(&self, name: &str) -> Result<bool, Error> {
        // S3 does not tell whether there was something.
        let was_there = self.size(name).await?.is_some();
        match self.store.delete(&path(name)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(was_there),
            Err(error) => Err(remote_error(name, &error)),
        }
    }

    pub(super) async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, u64)>, Error> {
        let below = path(prefix)?;
        let below = (!prefix.is_empty()).then_some(&below);
        let mut stream = match after {
            Some(after) => self.store.list_with_offset(below, &path(after)?),
            None => self.store.list(below),
        };
        let mut found = Vec::new();
        while found.len() < limit {
            let next = stream
                .try_next()
                .await
                .map_err(|error| remote_error(prefix, &error))?;
            let Some(meta) = next else { break };
            found.push((meta.location.as_ref().to_owned(), meta.size));
        }
        Ok(found)
    }

    pub(super) async fn sweep(&self, before: Millis) -> Result<usize, Error> {
        let mut stream = self.store.list(Some(&path(STAGING)?));
        let mut swept = 0;
        while let Some(meta) = stream
            .try_next()
            .await
            .map_err(|error| remote_error(STAGING, &error))?
        {
            if meta.last_modified.timestamp_millis() < before.0 {
                self.delete(meta.location.as_ref()).await?;
                swept += 1;
            }
        }
        Ok(swept)
    }
}

/// A multipart upload; dropped before it is completed, it is aborted.
#[derive(Debug)]
pub(super) struct PartUpload {
    name: String,
    upload: Option<Box<dyn MultipartUpload>>,
}

impl PartUpload {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) async fn write(&mut self, part: Bytes) -> Result<(), Error> {
        let upload = self
            .upload
            .as_mut()
            .expect("taken only by the methods that consume it");
        let put = upload.put_part(PutPayload::from_bytes(part)).await;
        put.map_err(|error| remote_error(&self.name, &error))
    }

    pub(super) async fn complete(mut self) -> Result<(), Error> {
        let mut upload = self
            .upload
            .take()
            .expect("taken only by the methods that consume it");
        let completed = upload.complete().await;
        completed
            .map(drop)
            .map_err(|error| remote_error(&self.name, &error))
    }
}

impl Drop for PartUpload {
    fn drop(&mut self) {
        // Parts are invisible, but cost money until they are aborted. Without a runtime the bucket's own rule must do.
        if let Some(mut upload) = self.upload.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                if let Err(error) = upload.abort().await {
                    tracing::warn!(%error, "an unfinished upload was not aborted");
                }
            });
        }
    }
}

fn path(name: &str) -> Result<Path, Error> {
    Path::parse(name).map_err(|error| object_error(ObjectErrorKind::Other, name, error))
}
