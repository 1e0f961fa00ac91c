//! What branches, testbeds, benchmarks and measures have in common: a name, a slug, and an archive.

use kiln_model::{Millis, Slug};

use crate::{Error, Query, Row, Tx, params};

/// A kind of row that belongs to a project and has a name.
pub trait Dimension: Sized {
    /// What people call it.
    const KIND: &'static str;
    const TABLE: &'static str;
    const COLUMNS: &'static str;
    /// A query that answers a row when something was measured with the row of id `?1`.
    const IN_USE: &'static str;
    fn read(row: &Row) -> Result<Self, Error>;
}

/// What a list is to hold.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub name: Option<String>,
    /// A part of the name or the slug, or the UUID.
    pub search: Option<String>,
    pub archived: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub limit: i64,
    pub offset: i64,
    pub descending: bool,
    pub sort: Sort,
}

/// What a list is in the order of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// What the list is in the order of when nobody asks.
    #[default]
    Usual,
    Created,
    Modified,
    Title,
}

/// What is to change; nothing stays as it is.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub name: Option<String>,
    pub slug: Option<Slug>,
    pub archived: Option<bool>,
}

const LISTED: &str = "project_id = ?1 AND (CAST(?2 AS TEXT) IS NULL OR name = ?2) \
    AND (CAST(?3 AS TEXT) IS NULL OR LOWER(name) LIKE ?3 ESCAPE '!' OR slug LIKE ?3 ESCAPE '!' OR uuid = ?4) \
    AND (archived IS NOT NULL) = (?5 <> 0)";

pub fn find<D: Dimension, Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<D>, Error> {
    let sql = format!("SELECT {} FROM {} WHERE id = ?1", D::COLUMNS, D::TABLE);
    one(&query.query(&sql, params![id])?)
}

/// By UUID, slug or name, as paths have it; a slug that two share is that of the older one.
pub fn find_by_ref<D: Dimension, Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    reference: &str,
) -> Result<Option<D>, Error> {
    find_by(query, project, reference, ["uuid", "slug", "name"])
}

/// By UUID, name or slug, as bodies have it: a branch `a-b` is not the branch `a/b`, whose slug it is.
pub fn find_by_name<D: Dimension, Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    reference: &str,
) -> Result<Option<D>, Error> {
    find_by(query, project, reference, ["uuid", "name", "slug"])
}

/// Asks column by column: for all three at once `SQLite` would look at every row of the project.
fn find_by<D: Dimension, Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    reference: &str,
    columns: [&str; 3],
) -> Result<Option<D>, Error> {
    // A UUID has 36 characters, so that most names need not be looked for among them.
    let could_be_uuid = reference.len() == 36;
    for column in columns
        .into_iter()
        .filter(|column| could_be_uuid || *column != "uuid")
    {
        let sql = format!(
            "SELECT {} FROM {} WHERE project_id = ?1 AND {column} = ?2 ORDER BY id LIMIT 1",
            D::COLUMNS,
            D::TABLE
        );
        let rows = query.query(&sql, params![project, reference])?;
        if let Some(found) = one(&rows)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// In order of names.
pub fn list<D: Dimension, Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    filter: &Filter,
    page: Page,
) -> Result<Vec<D>, Error> {
    let order = if page.descending { "DESC" } else { "ASC" };
    let sql = format!(
        "SELECT {} FROM {} WHERE {LISTED} ORDER BY name {order}, id {order} LIMIT ?6 OFFSET ?7",
        D::COLUMNS,
        D::TABLE
    );
    let rows = query.query(
        &sql,
        params![
            project,
            filter.name.as_deref(),
            filter.search.as_deref().map(super::listing::pattern),
            filter.search.as_deref(),
            filter.archived,
            page.limit,
            page.offset
        ],
    )?;
    rows.iter().map(D::read).collect()
}

pub fn count<D: Dimension, Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    filter: &Filter,
) -> Result<i64, Error> {
    let sql = format!("SELECT COUNT(*) FROM {} WHERE {LISTED}", D::TABLE);
    super::count(
        query,
        &sql,
        params![
            project,
            filter.name.as_deref(),
            filter.search.as_deref().map(super::listing::pattern),
            filter.search.as_deref(),
            filter.archived
        ],
    )
}

/// Changes what is given; whether there was such a row.
pub fn change<D: Dimension>(tx: &mut dyn Tx, id: i64, change: &Change) -> Result<bool, Error> {
    let wall = tx.wall();
    let archived: Option<Millis> = (change.archived == Some(true)).then_some(wall);
    let sql = format!(
        "UPDATE {} SET name = COALESCE(?2, name), slug = COALESCE(?3, slug), \
         archived = CASE WHEN ?4 = 0 THEN archived WHEN CAST(?5 AS BIGINT) IS NULL THEN NULL ELSE COALESCE(archived, ?5) END, \
         modified = ?6 WHERE id = ?1",
        D::TABLE
    );
    let changed = tx.execute(
        &sql,
        params![
            id,
            change.name.as_deref(),
            change.slug.as_ref().map(Slug::as_str),
            change.archived.is_some(),
            archived,
            wall
        ],
    )?;
    Ok(changed > 0)
}

/// Whether anything was measured with it, so that it cannot go.
pub fn is_in_use<D: Dimension, Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<bool, Error> {
    Ok(!query.query(D::IN_USE, params![id])?.is_empty())
}

pub fn delete<D: Dimension>(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    tx.execute(
        &format!("DELETE FROM {} WHERE id = ?1", D::TABLE),
        params![id],
    )?;
    Ok(())
}

/// The slug of a new row: what its name suggests, with a part of its UUID when that is taken or there is none.
pub fn free_slug<D: Dimension>(
    tx: &mut dyn Tx,
    project: i64,
    name: &str,
    uuid: &str,
) -> Result<String, Error> {
    let Some(slug) = Slug::suggest(name) else {
        return Ok(uuid.to_owned());
    };
    let sql = format!(
        "SELECT 1 FROM {} WHERE project_id = ?1 AND slug = ?2 LIMIT 1",
        D::TABLE
    );
    if tx.query(&sql, params![project, slug.as_str()])?.is_empty() {
        return Ok(slug.as_str().to_owned());
    }
    let suffix = &uuid[uuid.len() - SUFFIX..];
    let room = kiln_model::MAX_NAME - SUFFIX - 1;
    let stem: String = slug.as_str().chars().take(room).collect();
    Ok(format!("{}-{suffix}", stem.trim_end_matches('-')))
}

/// How much of a UUID makes a slug different from others.
const SUFFIX: usize = 8;

fn one<D: Dimension>(rows: &[Row]) -> Result<Option<D>, Error> {
    rows.first().map(D::read).transpose()
}
