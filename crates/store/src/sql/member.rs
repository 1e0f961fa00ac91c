//! Who belongs to which organization, and as what.

use kiln_model::v0::Role;

use super::account::{self, Account};
use super::listing::{self, Listing, Page, Source};
use crate::{Error, Query, Row, Tx, Value, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub account: Account,
    pub role: Role,
}

macro_rules! columns {
    () => {
        "account.id, account.uuid, account.name, account.slug, account.email, account.admin, account.locked, \
         account.created, organization_member.role"
    };
}

macro_rules! from {
    () => {
        "organization_member JOIN account ON account.id = organization_member.account_id"
    };
}

const SOURCE: Source = Source {
    columns: columns!(),
    from: from!(),
    name: "account",
    searched: &["account.name", "account.slug", "account.email"],
};

/// Makes an account a member, or gives it another role.
pub fn put(tx: &mut dyn Tx, organization: i64, account: i64, role: Role) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "INSERT INTO organization_member (organization_id, account_id, role, created) \
         VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (organization_id, account_id) DO UPDATE SET role = excluded.role",
        params![organization, account, role.name(), wall],
    )?;
    Ok(())
}

pub fn remove(tx: &mut dyn Tx, organization: i64, account: i64) -> Result<(), Error> {
    tx.execute(
        "DELETE FROM organization_member WHERE organization_id = ?1 AND account_id = ?2",
        params![organization, account],
    )?;
    Ok(())
}

pub fn role<Q: Query + ?Sized>(
    query: &mut Q,
    organization: i64,
    account: i64,
) -> Result<Option<Role>, Error> {
    let row = query.query_one(
        "SELECT role FROM organization_member WHERE organization_id = ?1 AND account_id = ?2",
        params![organization, account],
    )?;
    row.map(|row| role_in(&row, 0)).transpose()
}

/// The organization that an account has led for longest.
pub fn first_led<Q: Query + ?Sized>(query: &mut Q, account: i64) -> Result<Option<i64>, Error> {
    let row = query.query_one(
        "SELECT organization.id FROM organization_member \
         JOIN organization ON organization.id = organization_member.organization_id \
         WHERE organization_member.account_id = ?1 AND organization_member.role = 'leader' \
         AND organization.deleted IS NULL ORDER BY organization_member.created, organization.id LIMIT 1",
        params![account],
    )?;
    row.map(|row| row.get(0)).transpose()
}

/// By the UUID or slug of the person.
pub fn find<Q: Query + ?Sized>(
    query: &mut Q,
    organization: i64,
    reference: &str,
) -> Result<Option<Member>, Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM ",
        from!(),
        " WHERE organization_member.organization_id = ?1 AND (account.uuid = ?2 OR account.slug = ?2)"
    );
    query
        .query_one(sql, params![organization, reference])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    organization: i64,
    listing: &Listing,
) -> Result<Page<Member>, Error> {
    let condition = "organization_member.organization_id = ?3";
    let more = vec![Value::Int(organization)];
    listing::page(query, &SOURCE, condition, more, listing, read)
}

pub fn count<Q: Query + ?Sized>(query: &mut Q, organization: i64) -> Result<i64, Error> {
    super::count(
        query,
        "SELECT COUNT(*) FROM organization_member WHERE organization_id = ?1",
        params![organization],
    )
}

pub fn count_leaders<Q: Query + ?Sized>(query: &mut Q, organization: i64) -> Result<i64, Error> {
    super::count(
        query,
        "SELECT COUNT(*) FROM organization_member WHERE organization_id = ?1 AND role = 'leader'",
        params![organization],
    )
}

fn read(row: &Row) -> Result<Member, Error> {
    Ok(Member {
        account: account::read(row)?,
        role: role_in(row, 8)?,
    })
}

fn role_in(row: &Row, index: usize) -> Result<Role, Error> {
    let role: String = row.get(index)?;
    super::one_of(&Role::ALL, |role| role.name(), &role, "role")
}
