//! A store in a temporary directory, and short words for what the tests do.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use kiln_model::{Algorithm, Digest, OrganizationUuid, ProjectUuid};
use kiln_store::sql::{organization, project};
use kiln_store::testing::{ManualClock, SeededEntropy, postgres_database};
use kiln_store::{Store, StoreConfig};
use serde_json::{Value, json};
use sha2::Digest as _;
use tempfile::TempDir;

use crate::{
    Chunk, Collected, Cursor, Keep, Manifest, NewManifest, Pushed, Reference, Refusal, Registry,
    Repository, Session,
};

pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

pub(super) struct Fixture {
    pub(super) registry: Registry,
    pub(super) store: Store,
    config: StoreConfig,
    pub(super) clock: Arc<ManualClock>,
    pub(super) entropy: Arc<SeededEntropy>,
    /// Two repositories of one project, and one of another.
    pub(super) ours: Repository,
    pub(super) sibling: Repository,
    pub(super) theirs: Repository,
    pub(super) directory: TempDir,
}

impl Fixture {
    pub(super) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("kiln.db").display().to_string();
        Self::open(directory, database).await
    }

    pub(super) async fn on_postgres() -> Self {
        Self::open(tempfile::tempdir().unwrap(), postgres_database()).await
    }

    async fn open(directory: TempDir, database: String) -> Self {
        let entropy = Arc::new(SeededEntropy::new(1));
        let clock = Arc::new(ManualClock::default());
        let mut config =
            StoreConfig::new(database, Arc::clone(&clock) as _, Arc::clone(&entropy) as _);
        config.objects = directory.path().join("objects").display().to_string();
        let opening = config.clone();
        let opened = tokio::task::spawn_blocking(move || Store::open(&opening)).await;
        let store = opened.unwrap().unwrap();
        let ours = insert_project(&store, &entropy, "ours").await;
        let theirs = insert_project(&store, &entropy, "theirs").await;
        let at = |project, path: &str| Repository {
            project,
            path: path.to_owned(),
        };
        Self {
            registry: Registry::new(store.clone()),
            store,
            config,
            clock,
            entropy,
            ours: at(ours, ""),
            sibling: at(ours, "a/b"),
            theirs: at(theirs, ""),
            directory,
        }
    }

    /// As a process that was killed and started again finds it.
    pub(super) fn restart(&mut self) {
        self.store.close();
        self.store = Store::open(&self.config).unwrap();
        self.registry = Registry::new(self.store.clone());
    }

    pub(super) async fn start(&self, at: &Repository) -> Session {
        self.start_with(at, Algorithm::Sha256).await
    }

    pub(super) async fn start_with(&self, at: &Repository, algorithm: Algorithm) -> Session {
        let upload = self
            .registry
            .start_upload(at, algorithm, &*self.entropy)
            .await
            .unwrap();
        Session {
            repository: at.clone(),
            upload,
        }
    }

    pub(super) async fn append(
        &self,
        session: &Session,
        start: Option<u64>,
        bytes: &[u8],
    ) -> Result<u64, Refusal> {
        let chunk = Chunk {
            start,
            length: None,
            algorithm: None,
            body: body(bytes),
        };
        self.registry.append(session, chunk, &*self.entropy).await
    }

    pub(super) async fn push_blob(&self, at: &Repository, bytes: &[u8]) -> Digest {
        let session = self.start(at).await;
        self.append(&session, None, bytes).await.unwrap();
        let digest = sha256(bytes);
        self.registry
            .finish_upload(&session, &digest)
            .await
            .unwrap();
        digest
    }

    pub(super) async fn read(&self, at: &Repository, digest: &Digest) -> Result<Vec<u8>, Refusal> {
        let blob = self.registry.blob(at.project, digest).await?;
        self.read_part(at, digest, 0..blob.size).await
    }

    pub(super) async fn read_part(
        &self,
        at: &Repository,
        digest: &Digest,
        range: std::ops::Range<u64>,
    ) -> Result<Vec<u8>, Refusal> {
        let blob = self.registry.blob(at.project, digest).await?;
        let mut content = std::pin::pin!(self.registry.read_blob(&blob, range));
        let mut bytes = Vec::new();
        while let Some(part) = content.next().await {
            bytes.extend_from_slice(&part?);
        }
        Ok(bytes)
    }

    /// How many objects there are, whether or not anything speaks of them.
    pub(super) async fn objects(&self) -> usize {
        self.store
            .objects
            .list("registry", None, usize::MAX)
            .await
            .unwrap()
            .len()
    }

    pub(super) fn pass(&self, span: Duration) {
        self.clock.advance(i64::try_from(span.as_millis()).unwrap());
    }

    /// Collects everything that can be collected.
    pub(super) async fn collect(&self, keep: Keep) -> Collected {
        let mut whole = Collected::default();
        let mut cursor = Some(Cursor::Uploads);
        while let Some(from) = cursor {
            let (collected, next) = self.registry.collect(from, keep).await.unwrap();
            whole += collected;
            cursor = next;
        }
        whole
    }

    pub(super) async fn put(
        &self,
        at: &Repository,
        reference: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Pushed, Refusal> {
        let new = NewManifest {
            reference: reference_of(reference),
            tags: Vec::new(),
            content_type: Some(content_type.to_owned()),
            body: body.to_string().into(),
        };
        self.registry.put_manifest(at, new).await
    }

    /// Pushes an image with one layer of its own, under a tag.
    pub(super) async fn push_image(&self, at: &Repository, tag: &str) -> Pushed {
        let config = self.push_blob(at, b"{}").await;
        let layer = self.push_blob(at, tag.as_bytes()).await;
        self.put(at, tag, MANIFEST, &image(&config, &[layer]))
            .await
            .unwrap()
    }

    pub(super) async fn manifest(
        &self,
        at: &Repository,
        reference: &str,
    ) -> Result<Manifest, Refusal> {
        self.registry.manifest(at, &reference_of(reference)).await
    }

    pub(super) async fn delete_manifest(
        &self,
        at: &Repository,
        reference: &str,
    ) -> Result<(), Refusal> {
        self.registry
            .delete_manifest(at, &reference_of(reference))
            .await
    }
}

pub(super) fn sha256(bytes: &[u8]) -> Digest {
    Digest::from_hash(&sha2::Sha256::digest(bytes)).unwrap()
}

pub(super) fn body(
    bytes: &[u8],
) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> + Send + Unpin + use<> {
    // In small parts, as a network delivers them.
    let parts: Vec<_> = bytes
        .chunks(7)
        .map(|part| Ok(Bytes::copy_from_slice(part)))
        .collect();
    stream::iter(parts)
}

pub(super) fn image(config: &Digest, layers: &[Digest]) -> Value {
    let descriptor = |digest: &Digest| json!({"mediaType": "application/octet-stream", "digest": digest, "size": 1});
    let layers: Vec<_> = layers.iter().map(descriptor).collect();
    json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(config), "layers": layers})
}

pub(super) fn index(children: &[Digest]) -> Value {
    let children: Vec<_> = children
        .iter()
        .map(|digest| json!({"mediaType": MANIFEST, "digest": digest, "size": 1}))
        .collect();
    json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": children})
}

fn reference_of(text: &str) -> Reference {
    match text.parse::<Digest>() {
        Ok(digest) => Reference::Digest(digest),
        Err(_) => Reference::Tag(text.parse().unwrap()),
    }
}

async fn insert_project(store: &Store, entropy: &SeededEntropy, slug: &'static str) -> i64 {
    let (uuid, organization) = (
        ProjectUuid::mint(store.ledger.wall(), entropy),
        OrganizationUuid::mint(store.ledger.wall(), entropy),
    );
    let inserted = store.ledger.submit(move |tx| {
        let organization = organization::insert(
            tx,
            organization,
            &slug.parse().unwrap(),
            &slug.parse().unwrap(),
        )?;
        project::insert(
            tx,
            uuid,
            organization,
            &slug.parse().unwrap(),
            &slug.parse().unwrap(),
        )?;
        Ok(project::find_by_ref(tx, slug)?.unwrap().id)
    });
    let inserted: Result<i64, kiln_store::Error> = inserted.await;
    inserted.unwrap()
}
