//! What nobody needs any more.

use kiln_model::{Millis, Status};

use super::blob::Blob;
use crate::sql::parse;
use crate::{Error, Query, params};

/// A project's right to a blob that none of its manifests names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spare {
    pub project: i64,
    pub blob: Blob,
}

/// Uploads that nobody added to since `before`.
pub fn expired_uploads<Q: Query + ?Sized>(
    query: &mut Q,
    before: Millis,
    limit: u32,
) -> Result<Vec<i64>, Error> {
    query
        .query(
            "SELECT id FROM registry_upload WHERE touched_tick < ?1 ORDER BY touched_tick LIMIT ?2",
            params![before, limit],
        )?
        .iter()
        .map(|row| row.get(0))
        .collect()
}

/// The blobs after `after` that some project holds, that none of its manifests names, and that nobody counted on since
/// `before`; among the next `limit` blobs. Answers the last blob it looked at too, if there may be more.
pub fn spare_holdings<Q: Query + ?Sized>(
    query: &mut Q,
    after: i64,
    before: Millis,
    limit: u32,
) -> Result<(Vec<Spare>, Option<i64>), Error> {
    let page = super::blob::list(query, after, limit)?;
    let Some(last) = page.last().map(|blob| blob.id) else {
        return Ok((Vec::new(), None));
    };
    let rows = query.query(
        "SELECT holding.project_id, blob.id, blob.digest, blob.size FROM registry_blob blob \
         JOIN registry_holding holding ON holding.blob_id = blob.id \
         WHERE blob.id > ?1 AND blob.id <= ?2 AND holding.touched_tick < ?3 \
         AND NOT EXISTS (SELECT 1 FROM registry_manifest_blob named \
         WHERE named.project_id = holding.project_id AND named.blob_id = holding.blob_id) \
         ORDER BY blob.id, holding.project_id",
        params![after, last, before],
    )?;
    let spare = rows.iter().map(|row| {
        Ok(Spare {
            project: row.get(0)?,
            blob: Blob {
                id: row.get(1)?,
                digest: parse(row, 2)?,
                size: row.get(3)?,
            },
        })
    });
    let more = u32::try_from(page.len()).is_ok_and(|count| count >= limit);
    Ok((spare.collect::<Result<_, Error>>()?, more.then_some(last)))
}

/// Manifests after `after` that have no tag, that no index names, whose subject (if they have one) is not there, that were
/// pushed before `before`, and whose digest no job of their project names that is still to run.
pub fn untagged_manifests<Q: Query + ?Sized>(
    query: &mut Q,
    after: i64,
    before: Millis,
    limit: u32,
) -> Result<Vec<i64>, Error> {
    query
        .query(
            "SELECT manifest.id FROM registry_manifest manifest \
             JOIN registry_repository repository ON repository.id = manifest.repository_id \
             WHERE manifest.id > ?1 AND manifest.pushed_tick < ?2 \
             AND NOT EXISTS (SELECT 1 FROM registry_tag tag WHERE tag.manifest_id = manifest.id) \
             AND NOT EXISTS (SELECT 1 FROM registry_manifest_child child WHERE child.child_id = manifest.id) \
             AND NOT EXISTS (SELECT 1 FROM registry_manifest subject \
             WHERE subject.repository_id = manifest.repository_id AND subject.digest = manifest.subject) \
             AND NOT EXISTS (SELECT 1 FROM job WHERE job.project_id = repository.project_id \
             AND job.status IN (?4, ?5, ?6) AND job.work LIKE '%' || manifest.digest || '%') \
             ORDER BY manifest.id LIMIT ?3",
            params![
                after,
                before,
                limit,
                Status::Pending.code(),
                Status::Claimed.code(),
                Status::Running.code()
            ],
        )?
        .iter()
        .map(|row| row.get(0))
        .collect()
}

/// Whether any row speaks of an object of the upload, or may come to: an upload under way makes objects before rows.
pub fn is_needed<Q: Query + ?Sized>(
    query: &mut Q,
    upload: &str,
    object_key: &str,
) -> Result<bool, Error> {
    let rows = query.query(
        "SELECT id FROM registry_upload WHERE uuid = ?1 \
         UNION ALL SELECT start FROM registry_upload_piece WHERE object_key = ?2 \
         UNION ALL SELECT start FROM registry_blob_piece WHERE object_key = ?2 LIMIT 1",
        params![upload, object_key],
    )?;
    Ok(!rows.is_empty())
}
