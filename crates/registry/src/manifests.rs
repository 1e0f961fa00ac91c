//! Manifests: stored whole in the ledger, and only with everything they name.

use bytes::Bytes;
use kiln_model::{Algorithm, Digest};
use kiln_store::sql::registry::{blob, manifest, repository, tag};
use kiln_store::{Query, Tx};
use sha2::Digest as _;

use crate::manifest::Content;
use crate::{MAX_MANIFEST_BYTES, Reference, Refusal, Registry, Repository, Tag};

/// A manifest as it was sent.
#[derive(Clone, Debug)]
pub struct NewManifest {
    pub reference: Reference,
    /// Further tags for it.
    pub tags: Vec<Tag>,
    pub content_type: Option<String>,
    pub body: Bytes,
}

/// A manifest as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub digest: Digest,
    pub media_type: String,
    pub body: Bytes,
}

/// What a push made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    pub digest: Digest,
    pub subject: Option<Digest>,
}

impl Registry {
    /// Stores a manifest and points its tags at it, in one step.
    pub async fn put_manifest(
        &self,
        repository: &Repository,
        new: NewManifest,
    ) -> Result<Pushed, Refusal> {
        if new.body.len() > MAX_MANIFEST_BYTES {
            return Err(Refusal::ManifestTooLarge);
        }
        let digest = match &new.reference {
            Reference::Tag(_) => hash(&new.body, Algorithm::Sha256),
            Reference::Digest(expected) => {
                let actual = hash(&new.body, expected.algorithm());
                if actual != *expected {
                    return Err(Refusal::WrongDigest {
                        expected: expected.clone(),
                        actual,
                    });
                }
                actual
            }
        };
        let content = Content::parse(&new.body, new.content_type.as_deref())?;
        let pushed = Pushed {
            digest: digest.clone(),
            subject: content.subject.clone(),
        };
        let row = manifest::Manifest {
            digest,
            media_type: content.media_type.as_str().to_owned(),
            artifact_type: content.artifact_type.clone(),
            subject: content.subject.clone(),
            body: new.body.to_vec(),
        };
        let mut tags = new.tags;
        if let Reference::Tag(tag) = new.reference {
            tags.push(tag);
        }
        let at = repository.clone();
        self.store
            .ledger
            .submit(move |tx| store(tx, &at, &row, &content, &tags))
            .await?;
        Ok(pushed)
    }

    pub async fn manifest(
        &self,
        repository: &Repository,
        reference: &Reference,
    ) -> Result<Manifest, Refusal> {
        let (at, reference) = (repository.clone(), reference.clone());
        let found = self
            .store
            .reader
            .read(move |query| find(query, &at, &reference));
        read(found.await?)
    }

    /// A manifest of the project, whichever of its repositories has it.
    pub async fn manifest_in_project(
        &self,
        project: i64,
        digest: &Digest,
    ) -> Result<Manifest, Refusal> {
        let digest = digest.clone();
        let found: Result<_, kiln_store::Error> = self
            .store
            .reader
            .read(move |query| manifest::find_in_project(query, project, &digest))
            .await;
        read(found?)
    }

    /// Removes a tag, or a manifest with all its tags.
    pub async fn delete_manifest(
        &self,
        repository: &Repository,
        reference: &Reference,
    ) -> Result<(), Refusal> {
        let (at, reference) = (repository.clone(), reference.clone());
        let deleted = self
            .store
            .ledger
            .submit(move |tx| delete(tx, &at, &reference));
        deleted.await
    }
}

fn find(
    query: &mut dyn Query,
    at: &Repository,
    reference: &Reference,
) -> Result<Option<manifest::Manifest>, kiln_store::Error> {
    let Some(repository) = repository::find(query, at.project, &at.path)? else {
        return Ok(None);
    };
    match reference {
        Reference::Digest(digest) => manifest::find(query, repository, digest),
        Reference::Tag(name) => match tag::find(query, repository, name.as_str())? {
            Some(digest) => manifest::find(query, repository, &digest),
            None => Ok(None),
        },
    }
}

/// Bytes that are no longer what they were are never handed out.
fn read(found: Option<manifest::Manifest>) -> Result<Manifest, Refusal> {
    let found = found.ok_or(Refusal::ManifestUnknown)?;
    if hash(&found.body, found.digest.algorithm()) != found.digest {
        let what = format!("the manifest {} does not have its digest", found.digest);
        return Err(kiln_store::Error::Corrupt { what }.into());
    }
    Ok(Manifest {
        digest: found.digest,
        media_type: found.media_type,
        body: found.body.into(),
    })
}

fn store(
    tx: &mut dyn Tx,
    at: &Repository,
    row: &manifest::Manifest,
    content: &Content,
    tags: &[Tag],
) -> Result<(), Refusal> {
    let repository = repository::find_or_insert(tx, at.project, &at.path)?;
    let id = match manifest::find_id(tx, repository, &row.digest)? {
        Some(known) => {
            manifest::touch(tx, known)?;
            known
        }
        None => store_new(tx, at.project, repository, row, content)?,
    };
    for name in tags {
        tag::put(tx, repository, name.as_str(), id)?;
    }
    Ok(())
}

fn store_new(
    tx: &mut dyn Tx,
    project: i64,
    repository: i64,
    row: &manifest::Manifest,
    content: &Content,
) -> Result<i64, Refusal> {
    let (mut blobs, mut children, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for digest in &content.blobs {
        match blob::find_held(tx, project, digest)? {
            Some(blob) => blobs.push(blob.id),
            None => missing.push(digest.clone()),
        }
    }
    for digest in &content.children {
        match manifest::find_id(tx, repository, digest)? {
            Some(child) => children.push(child),
            None => missing.push(digest.clone()),
        }
    }
    if !missing.is_empty() {
        return Err(Refusal::ContentMissing(missing));
    }
    let Some(id) = manifest::insert(tx, repository, row)? else {
        // Another server's transaction was first; with the same digest it stored the same.
        return manifest::find_id(tx, repository, &row.digest)?.ok_or(Refusal::ManifestUnknown);
    };
    for blob in blobs {
        manifest::add_blob(tx, id, project, blob)?;
    }
    for child in children {
        manifest::add_child(tx, id, child)?;
    }
    Ok(id)
}

fn delete(tx: &mut dyn Tx, at: &Repository, reference: &Reference) -> Result<(), Refusal> {
    let repository = repository::find(tx, at.project, &at.path)?.ok_or(Refusal::ManifestUnknown)?;
    match reference {
        Reference::Tag(name) => {
            if !tag::remove(tx, repository, name.as_str())? {
                return Err(Refusal::ManifestUnknown);
            }
        }
        Reference::Digest(digest) => {
            let id = manifest::find_id(tx, repository, digest)?.ok_or(Refusal::ManifestUnknown)?;
            if let Some(by) = manifest::named_by(tx, id)? {
                return Err(Refusal::ManifestNamed { by });
            }
            manifest::remove(tx, id)?;
        }
    }
    Ok(())
}

pub(crate) fn hash(bytes: &[u8], algorithm: Algorithm) -> Digest {
    let digest = match algorithm {
        Algorithm::Sha256 => Digest::from_hash(&sha2::Sha256::digest(bytes)),
        Algorithm::Sha512 => Digest::from_hash(&sha2::Sha512::digest(bytes)),
    };
    digest.expect("both hashes have the length of a digest")
}
