//! How much there is.

use crate::{Error, Query};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub repositories: u64,
    pub manifests: u64,
    pub tags: u64,
    /// Blobs, each counted once.
    pub blobs: u64,
    /// What they take on the disk.
    pub blob_bytes: u64,
    /// What they would take if every project had its own copy.
    pub held_bytes: u64,
    /// Blobs that some project holds and no manifest of it names.
    pub spare_blobs: u64,
    pub uploads: u64,
    pub upload_bytes: u64,
}

pub fn count<Q: Query + ?Sized>(query: &mut Q) -> Result<Stats, Error> {
    let mut number = |sql: &str| -> Result<u64, Error> {
        query.query_one(sql, &[])?.map_or(Ok(0), |row| row.get(0))
    };
    Ok(Stats {
        repositories: number("SELECT COUNT(*) FROM registry_repository")?,
        manifests: number("SELECT COUNT(*) FROM registry_manifest")?,
        tags: number("SELECT COUNT(*) FROM registry_tag")?,
        blobs: number("SELECT COUNT(*) FROM registry_blob")?,
        blob_bytes: number("SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM registry_blob")?,
        held_bytes: number("SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM registry_usage")?,
        spare_blobs: number(
            "SELECT COUNT(DISTINCT holding.blob_id) FROM registry_holding holding \
             WHERE NOT EXISTS (SELECT 1 FROM registry_manifest_blob named \
             WHERE named.project_id = holding.project_id AND named.blob_id = holding.blob_id)",
        )?,
        uploads: number("SELECT COUNT(*) FROM registry_upload")?,
        upload_bytes: number("SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM registry_upload")?,
    })
}
