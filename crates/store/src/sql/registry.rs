//! The registry's tables: repositories, blobs and who holds them, uploads, manifests, tags.

pub mod blob;
pub mod collect;
pub mod manifest;
pub mod piece;
pub mod repository;
pub mod stats;
pub mod tag;
pub mod upload;
pub mod usage;

use kiln_model::Digest;

use crate::{Error, Query};

/// The manifest that a tag or a digest names in a project's repository (`""` is the project's own name), now.
pub fn resolve<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    repository: &str,
    reference: &str,
) -> Result<Option<Digest>, Error> {
    let Some(repository) = repository::find(query, project, repository)? else {
        return Ok(None);
    };
    match reference.parse::<Digest>() {
        Ok(digest) => Ok(manifest::find_id(query, repository, &digest)?.map(|_| digest)),
        Err(_) => tag::find(query, repository, reference),
    }
}
