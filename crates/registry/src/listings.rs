//! What there is in a repository, a page at a time.

use kiln_model::Digest;
use kiln_store::Query;
use kiln_store::sql::registry::{manifest, repository, tag};

use crate::manifest::{Content, Listed};
use crate::{MAX_MANIFEST_BYTES, Refusal, Registry, Repository};

/// The most entries of one page.
pub const MAX_PAGE: u32 = 10_000;
/// The most referrers of one page.
const REFERRERS_PAGE: u32 = 1_000;

/// Entries in order, and whether there are more after the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub entries: Vec<T>,
    pub more: bool,
}

impl Registry {
    /// The tags after `last`, at most `limit` of them.
    pub async fn tags(
        &self,
        repository: &Repository,
        last: Option<String>,
        limit: u32,
    ) -> Result<Page<String>, Refusal> {
        let at = repository.clone();
        let last = last.unwrap_or_default();
        let limit = limit.min(MAX_PAGE);
        let listed = self.store.reader.read(move |query| {
            let Some(repository) = repository::find(query, at.project, &at.path)? else {
                return Ok(None);
            };
            tag::list(query, repository, &last, limit + 1).map(Some)
        });
        let listed: Result<_, kiln_store::Error> = listed.await;
        let mut entries = listed?.ok_or(Refusal::NameUnknown)?;
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        // Nothing was asked for: then nothing is left out either.
        let more = limit > 0 && entries.len() > wanted;
        entries.truncate(wanted);
        Ok(Page { entries, more })
    }

    /// The manifests that say `subject` is their subject, after `last`. Nothing refers to what is not there: that is
    /// an empty page, never an error.
    pub async fn referrers(
        &self,
        repository: &Repository,
        subject: &Digest,
        artifact_type: Option<String>,
        last: Option<Digest>,
    ) -> Result<Page<Listed>, Refusal> {
        let (at, subject) = (repository.clone(), subject.clone());
        let read = self.store.reader.read(move |query| {
            list_referrers(
                query,
                &at,
                &subject,
                artifact_type.as_deref(),
                last.as_ref(),
            )
        });
        read.await
    }
}

fn list_referrers(
    query: &mut dyn Query,
    at: &Repository,
    subject: &Digest,
    artifact_type: Option<&str>,
    last: Option<&Digest>,
) -> Result<Page<Listed>, Refusal> {
    let mut page = Page {
        entries: Vec::new(),
        more: false,
    };
    let Some(repository) = repository::find(query, at.project, &at.path)? else {
        return Ok(page);
    };
    let last = last.map_or("", Digest::as_str);
    let digests = manifest::referrers(
        query,
        repository,
        subject,
        artifact_type,
        last,
        REFERRERS_PAGE + 1,
    )?;
    let wanted = usize::try_from(REFERRERS_PAGE).unwrap_or(usize::MAX);
    let mut bytes = 0;
    for digest in &digests {
        // One at a time, and by their sizes too: a page is never much larger than a manifest may be.
        if page.entries.len() == wanted || bytes > MAX_MANIFEST_BYTES {
            page.more = true;
            break;
        }
        let Some(found) = manifest::find(query, repository, digest)? else {
            continue;
        };
        bytes += found.body.len();
        page.entries.push(listed(found)?);
    }
    Ok(page)
}

fn listed(found: manifest::Manifest) -> Result<Listed, Refusal> {
    let content = Content::parse(&found.body, Some(&found.media_type)).map_err(|error| {
        kiln_store::Error::Corrupt {
            what: format!("the stored manifest {}: {error}", found.digest),
        }
    })?;
    Ok(Listed {
        media_type: found.media_type,
        digest: found.digest,
        size: found.body.len(),
        artifact_type: found.artifact_type,
        annotations: content.annotations,
    })
}
