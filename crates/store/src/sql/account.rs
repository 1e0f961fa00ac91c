//! People and their keys. A key itself is never stored, only its SHA-256.

use kiln_model::{KeyUuid, Millis, UserUuid};

use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: i64,
    pub uuid: UserUuid,
    pub name: String,
    pub slug: String,
    pub email: String,
    pub admin: bool,
}

pub fn insert(
    tx: &mut dyn Tx,
    uuid: UserUuid,
    name: &str,
    email: &str,
    admin: bool,
) -> Result<i64, Error> {
    let wall = tx.wall();
    let slug = kiln_model::Slug::suggest(name)
        .map_or_else(|| uuid.to_string(), |slug| slug.as_str().to_owned());
    let row = tx.query_one(
        "INSERT INTO account (uuid, name, slug, email, admin, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) RETURNING id",
        params![uuid.to_string(), name, slug, email, admin, wall],
    )?;
    super::inserted_id(row)
}

pub fn find_by_email<Q: Query + ?Sized>(
    query: &mut Q,
    email: &str,
) -> Result<Option<Account>, Error> {
    query
        .query_one(
            "SELECT id, uuid, name, slug, email, admin FROM account WHERE email = ?1",
            params![email],
        )?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Account>, Error> {
    query
        .query_one(
            "SELECT id, uuid, name, slug, email, admin FROM account WHERE id = ?1",
            params![id],
        )?
        .as_ref()
        .map(read)
        .transpose()
}

/// Whose live key has this hash.
pub fn find_by_key<Q: Query + ?Sized>(query: &mut Q, hash: &str) -> Result<Option<Account>, Error> {
    query
        .query_one(
            "SELECT account.id, account.uuid, account.name, account.slug, account.email, account.admin \
             FROM account_key JOIN account ON account.id = account_key.account_id \
             WHERE account_key.hash = ?1 AND account_key.revoked IS NULL",
            params![hash],
        )?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn insert_key(
    tx: &mut dyn Tx,
    uuid: KeyUuid,
    account: i64,
    name: &str,
    hash: &str,
) -> Result<(), Error> {
    let wall: Millis = tx.wall();
    tx.execute(
        "INSERT INTO account_key (uuid, account_id, name, hash, created) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![uuid.to_string(), account, name, hash, wall],
    )?;
    Ok(())
}

fn read(row: &Row) -> Result<Account, Error> {
    Ok(Account {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        name: row.get(2)?,
        slug: row.get(3)?,
        email: row.get(4)?,
        admin: row.get(5)?,
    })
}
