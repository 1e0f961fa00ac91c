//! The repositories of a project.

use crate::{Error, Query, Tx, params};

pub fn find<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    path: &str,
) -> Result<Option<i64>, Error> {
    query
        .query_one(
            "SELECT id FROM registry_repository WHERE project_id = ?1 AND path = ?2",
            params![project, path],
        )?
        .map(|row| row.get(0))
        .transpose()
}

/// A repository begins with the first thing that is put into it.
pub fn find_or_insert(tx: &mut dyn Tx, project: i64, path: &str) -> Result<i64, Error> {
    if let Some(id) = find(tx, project, path)? {
        return Ok(id);
    }
    let wall = tx.wall();
    tx.execute(
        "INSERT INTO registry_repository (project_id, path, created) VALUES (?1, ?2, ?3) \
         ON CONFLICT (project_id, path) DO NOTHING",
        params![project, path, wall],
    )?;
    find(tx, project, path)?.ok_or_else(|| Error::Corrupt {
        what: "an inserted repository is not there".to_owned(),
    })
}
