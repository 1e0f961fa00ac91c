//! Organizations. One without members is unclaimed.

use kiln_model::v0::PlanLevel;
use kiln_model::{Millis, OrganizationUuid, ResourceName, Slug};

use super::listing::{self, Listing, Page, Source};
use super::setting;
use crate::{Error, Query, Row, Tx, Value, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organization {
    pub id: i64,
    pub uuid: OrganizationUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub plan: PlanLevel,
    pub created: Millis,
    pub modified: Millis,
    /// Since when it has members; none is unclaimed.
    pub claimed: Option<Millis>,
    /// What the payment provider calls it.
    pub customer: Option<String>,
}

macro_rules! columns {
    () => {
        "organization.id, organization.uuid, organization.name, organization.slug, organization.plan, \
         organization.created, organization.modified, \
         (SELECT MIN(claim.created) FROM organization_member AS claim \
          WHERE claim.organization_id = organization.id), organization.billing_customer"
    };
}

const SOURCE: Source = Source {
    columns: columns!(),
    from: "organization",
    name: "organization",
    searched: &["organization.name", "organization.slug"],
};

/// The plan of organizations that are made from now on.
pub fn set_first_plan(tx: &mut dyn Tx, plan: PlanLevel) -> Result<(), Error> {
    setting::put(tx, "organization.plan", plan.name())
}

pub fn insert(
    tx: &mut dyn Tx,
    uuid: OrganizationUuid,
    name: &ResourceName,
    slug: &Slug,
) -> Result<i64, Error> {
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO organization (uuid, name, slug, plan, created, modified) VALUES (?1, ?2, ?3, \
         COALESCE((SELECT value FROM setting WHERE name = 'organization.plan'), 'enterprise'), ?4, ?4) RETURNING id",
        params![uuid.to_string(), name.as_str(), slug.as_str(), wall],
    )?;
    super::inserted_id(row)
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Organization>, Error> {
    let sql = concat!("SELECT ", columns!(), " FROM organization WHERE id = ?1");
    query
        .query_one(sql, params![id])?
        .as_ref()
        .map(read)
        .transpose()
}

/// By UUID or slug.
pub fn find_by_ref<Q: Query + ?Sized>(
    query: &mut Q,
    reference: &str,
) -> Result<Option<Organization>, Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM organization WHERE deleted IS NULL AND (uuid = ?1 OR slug = ?1)"
    );
    query
        .query_one(sql, params![reference])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn is_slug_taken<Q: Query + ?Sized>(query: &mut Q, slug: &Slug) -> Result<bool, Error> {
    let found = query.query_one(
        "SELECT id FROM organization WHERE slug = ?1",
        params![slug.as_str()],
    )?;
    Ok(found.is_some())
}

/// Those an account belongs to; all of them for `None`, an administrator.
pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    account: Option<i64>,
    listing: &Listing,
) -> Result<Page<Organization>, Error> {
    let condition = "organization.deleted IS NULL AND (?3 = 0 OR EXISTS (\
         SELECT 1 FROM organization_member AS mine WHERE mine.organization_id = organization.id \
         AND mine.account_id = ?3))";
    let more = vec![Value::Int(account.unwrap_or(0))];
    listing::page(query, &SOURCE, condition, more, listing, read)
}

/// Writes everything that can change.
pub fn update(tx: &mut dyn Tx, organization: &Organization) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE organization SET name = ?2, slug = ?3, plan = ?4, billing_customer = ?6, modified = ?5 \
         WHERE id = ?1",
        params![
            organization.id,
            organization.name.as_str(),
            organization.slug.as_str(),
            organization.plan.name(),
            wall,
            organization.customer.as_deref()
        ],
    )?;
    Ok(())
}

/// The row stays for what refers to it; the slug is free again.
pub fn delete(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE organization SET deleted = ?2, slug = uuid, modified = ?2 WHERE id = ?1",
        params![id, wall],
    )?;
    Ok(())
}

fn read(row: &Row) -> Result<Organization, Error> {
    let plan: String = row.get(4)?;
    Ok(Organization {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        name: super::parse(row, 2)?,
        slug: super::parse(row, 3)?,
        plan: super::one_of(&PlanLevel::ALL, |level| level.name(), &plan, "plan")?,
        created: row.get(5)?,
        modified: row.get(6)?,
        claimed: row.get(7)?,
        customer: row.get(8)?,
    })
}
