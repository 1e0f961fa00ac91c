//! Projects.

use kiln_model::v0::Visibility;
use kiln_model::{Millis, OrganizationUuid, ProjectUrl, ProjectUuid, ResourceName, Slug};

use super::listing::{self, Listing, Page, Source};
use crate::{Error, Query, Row, Tx, Value, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: i64,
    pub uuid: ProjectUuid,
    pub organization_id: i64,
    pub organization: OrganizationUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub url: Option<ProjectUrl>,
    pub visibility: Visibility,
    pub created: Millis,
    pub modified: Millis,
    /// Since when its organization has members.
    pub claimed: Option<Millis>,
}

macro_rules! columns {
    () => {
        "project.id, project.uuid, project.organization_id, organization.uuid, project.name, \
         project.slug, project.url, project.visibility, project.created, project.modified, \
         (SELECT MIN(claim.created) FROM organization_member AS claim \
          WHERE claim.organization_id = project.organization_id)"
    };
}

macro_rules! from {
    () => {
        "project JOIN organization ON organization.id = project.organization_id"
    };
}

macro_rules! select {
    () => {
        concat!("SELECT ", columns!(), " FROM ", from!())
    };
}

const SOURCE: Source = Source {
    columns: columns!(),
    from: from!(),
    name: "project",
    searched: &["project.name", "project.slug"],
};

/// Whose projects are listed.
#[derive(Clone, Copy, Debug)]
pub enum Viewer {
    /// Sees what is public.
    Anybody,
    /// Sees what is public, and what belongs to their organizations.
    Account(i64),
    Administrator,
}

pub fn insert(
    tx: &mut dyn Tx,
    uuid: ProjectUuid,
    organization: i64,
    name: &ResourceName,
    slug: &Slug,
) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "INSERT INTO project (uuid, organization_id, name, slug, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
        params![
            uuid.to_string(),
            organization,
            name.as_str(),
            slug.as_str(),
            wall
        ],
    )?;
    Ok(())
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Project>, Error> {
    query
        .query_one(concat!(select!(), " WHERE project.id = ?1"), params![id])?
        .as_ref()
        .map(read)
        .transpose()
}

/// By UUID or slug.
pub fn find_by_ref<Q: Query + ?Sized>(
    query: &mut Q,
    reference: &str,
) -> Result<Option<Project>, Error> {
    query
        .query_one(
            concat!(
                select!(),
                " WHERE project.deleted IS NULL AND (project.uuid = ?1 OR project.slug = ?1)"
            ),
            params![reference],
        )?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn is_slug_taken<Q: Query + ?Sized>(query: &mut Q, slug: &Slug) -> Result<bool, Error> {
    let found = query.query_one(
        "SELECT id FROM project WHERE slug = ?1",
        params![slug.as_str()],
    )?;
    Ok(found.is_some())
}

/// Of one organization, or of all.
pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    organization: Option<i64>,
    viewer: Viewer,
    listing: &Listing,
) -> Result<Page<Project>, Error> {
    let condition = "project.deleted IS NULL AND (?3 = 0 OR project.organization_id = ?3) \
         AND (?4 = 1 OR project.visibility = 'public' OR EXISTS (\
         SELECT 1 FROM organization_member AS mine \
         WHERE mine.organization_id = project.organization_id AND mine.account_id = ?5))";
    let (administrator, account) = match viewer {
        Viewer::Anybody => (false, 0),
        Viewer::Account(account) => (false, account),
        Viewer::Administrator => (true, 0),
    };
    let more = vec![
        Value::Int(organization.unwrap_or(0)),
        Value::from(administrator),
        Value::Int(account),
    ];
    listing::page(query, &SOURCE, condition, more, listing, read)
}

/// The projects of an organization that are there.
pub fn of_organization<Q: Query + ?Sized>(
    query: &mut Q,
    organization: i64,
) -> Result<Vec<Project>, Error> {
    let sql = concat!(
        select!(),
        " WHERE project.deleted IS NULL AND project.organization_id = ?1 ORDER BY project.id"
    );
    let rows = query.query(sql, params![organization])?;
    rows.iter().map(read).collect()
}

/// Ids of the jobs of a project that have not ended.
pub fn live_jobs<Q: Query + ?Sized>(query: &mut Q, project: i64) -> Result<Vec<i64>, Error> {
    let rows = query.query(
        "SELECT id FROM job WHERE project_id = ?1 AND status IN (0, 1, 2) ORDER BY id",
        params![project],
    )?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// Writes everything that can change.
pub fn update(tx: &mut dyn Tx, project: &Project) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE project SET name = ?2, slug = ?3, url = ?4, visibility = ?5, modified = ?6 WHERE id = ?1",
        params![
            project.id,
            project.name.as_str(),
            project.slug.as_str(),
            project.url.as_ref().map(ProjectUrl::as_str),
            project.visibility.name(),
            wall
        ],
    )?;
    Ok(())
}

/// The row stays for what refers to it; the slug is free again.
pub fn delete(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE project SET deleted = ?2, slug = uuid, modified = ?2 WHERE id = ?1",
        params![id, wall],
    )?;
    Ok(())
}

fn read(row: &Row) -> Result<Project, Error> {
    let visibility: String = row.get(7)?;
    Ok(Project {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        organization_id: row.get(2)?,
        organization: super::parse(row, 3)?,
        name: super::parse(row, 4)?,
        slug: super::parse(row, 5)?,
        url: super::parse_optional(row, 6)?,
        visibility: super::one_of(
            &Visibility::ALL,
            |visibility| visibility.name(),
            &visibility,
            "visibility",
        )?,
        created: row.get(8)?,
        modified: row.get(9)?,
        claimed: row.get(10)?,
    })
}
