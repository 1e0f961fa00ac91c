//! People.

use kiln_model::{Email, KeyUuid, Millis, ResourceName, Slug, UserUuid};

use super::listing::{self, Listing, Page, Source};
use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: i64,
    pub uuid: UserUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub email: Email,
    pub admin: bool,
    /// A locked person's keys open nothing.
    pub locked: bool,
    pub created: Millis,
}

macro_rules! columns {
    () => {
        "account.id, account.uuid, account.name, account.slug, account.email, account.admin, account.locked, \
         account.created"
    };
}

const SOURCE: Source = Source {
    columns: columns!(),
    from: "account",
    name: "account",
    searched: &["account.name", "account.slug", "account.email"],
};

pub fn insert(
    tx: &mut dyn Tx,
    uuid: UserUuid,
    name: &ResourceName,
    slug: &Slug,
    email: &Email,
    admin: bool,
) -> Result<Account, Error> {
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO account (uuid, name, slug, email, admin, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) RETURNING id",
        params![
            uuid.to_string(),
            name.as_str(),
            slug.as_str(),
            email.as_str(),
            admin,
            wall
        ],
    )?;
    Ok(Account {
        id: super::inserted_id(row)?,
        uuid,
        name: name.clone(),
        slug: slug.clone(),
        email: email.clone(),
        admin,
        locked: false,
        created: wall,
    })
}

/// Writes everything that can change.
pub fn update(tx: &mut dyn Tx, account: &Account) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE account SET name = ?2, slug = ?3, email = ?4, admin = ?5, locked = ?6, modified = ?7 \
         WHERE id = ?1",
        params![
            account.id,
            account.name.as_str(),
            account.slug.as_str(),
            account.email.as_str(),
            account.admin,
            account.locked,
            wall
        ],
    )?;
    Ok(())
}

pub fn find_by_email<Q: Query + ?Sized>(
    query: &mut Q,
    email: &str,
) -> Result<Option<Account>, Error> {
    let sql = concat!("SELECT ", columns!(), " FROM account WHERE email = ?1");
    query
        .query_one(sql, params![email])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Account>, Error> {
    let sql = concat!("SELECT ", columns!(), " FROM account WHERE id = ?1");
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
) -> Result<Option<Account>, Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM account WHERE uuid = ?1 OR slug = ?1"
    );
    query
        .query_one(sql, params![reference])?
        .as_ref()
        .map(read)
        .transpose()
}

macro_rules! select_by_live_key {
    ($column:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM account_key JOIN account ON account.id = account_key.account_id WHERE account_key.",
            $column,
            " = ?1 AND account_key.revoked IS NULL AND account.locked = 0 \
             AND (account_key.expires IS NULL OR account_key.expires > ?2)"
        )
    };
}

/// Whose live key has this hash.
pub fn find_by_key<Q: Query + ?Sized>(
    query: &mut Q,
    hash: &str,
    wall: Millis,
) -> Result<Option<Account>, Error> {
    query
        .query_one(select_by_live_key!("hash"), params![hash, wall])?
        .as_ref()
        .map(read)
        .transpose()
}

/// Whose live key has this UUID.
pub fn find_by_key_uuid<Q: Query + ?Sized>(
    query: &mut Q,
    uuid: KeyUuid,
    wall: Millis,
) -> Result<Option<Account>, Error> {
    query
        .query_one(select_by_live_key!("uuid"), params![uuid.to_string(), wall])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn is_slug_taken<Q: Query + ?Sized>(query: &mut Q, slug: &Slug) -> Result<bool, Error> {
    let found = query.query_one(
        "SELECT id FROM account WHERE slug = ?1",
        params![slug.as_str()],
    )?;
    Ok(found.is_some())
}

pub fn list<Q: Query + ?Sized>(query: &mut Q, listing: &Listing) -> Result<Page<Account>, Error> {
    listing::page(query, &SOURCE, "1 = 1", Vec::new(), listing, read)
}

/// The administrator who has been one for longest.
pub fn first_admin<Q: Query + ?Sized>(query: &mut Q) -> Result<Option<Account>, Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM account WHERE admin = 1 AND locked = 0 ORDER BY id LIMIT 1"
    );
    query.query_one(sql, &[])?.as_ref().map(read).transpose()
}

/// How many administrators can still log in.
pub fn count_admins<Q: Query + ?Sized>(query: &mut Q) -> Result<i64, Error> {
    super::count(
        query,
        "SELECT COUNT(*) FROM account WHERE admin = 1 AND locked = 0",
        &[],
    )
}

pub(super) fn read(row: &Row) -> Result<Account, Error> {
    Ok(Account {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        name: super::parse(row, 2)?,
        slug: super::parse(row, 3)?,
        email: super::parse(row, 4)?,
        admin: row.get(5)?,
        locked: row.get(6)?,
        created: row.get(7)?,
    })
}
