//! Keys of people. A key itself is never stored, only its SHA-256.

use kiln_model::{KeyUuid, Millis, ResourceName};

use super::listing::{self, Listing, Page, Source};
use crate::{Error, Query, Row, Tx, Value, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountKey {
    pub id: i64,
    pub uuid: KeyUuid,
    pub account: i64,
    pub name: ResourceName,
    pub created: Millis,
    /// Null is a key from before keys expired.
    pub expires: Option<Millis>,
    pub revoked: Option<Millis>,
}

macro_rules! columns {
    () => {
        "account_key.id, account_key.uuid, account_key.account_id, account_key.name, account_key.created, \
         account_key.expires, account_key.revoked"
    };
}

const SOURCE: Source = Source {
    columns: columns!(),
    from: "account_key",
    name: "account_key",
    searched: &["account_key.name"],
};

pub fn insert(
    tx: &mut dyn Tx,
    uuid: KeyUuid,
    account: i64,
    name: &ResourceName,
    hash: &str,
    expires: Millis,
) -> Result<AccountKey, Error> {
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO account_key (uuid, account_id, name, hash, created, expires) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING id",
        params![
            uuid.to_string(),
            account,
            name.as_str(),
            hash,
            wall,
            expires
        ],
    )?;
    Ok(AccountKey {
        id: super::inserted_id(row)?,
        uuid,
        account,
        name: name.clone(),
        created: wall,
        expires: Some(expires),
        revoked: None,
    })
}

pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    account: i64,
    listing: &Listing,
) -> Result<Page<AccountKey>, Error> {
    let condition = "account_key.account_id = ?3 AND (?4 = 1 OR account_key.revoked IS NULL)";
    let more = vec![Value::Int(account), Value::from(listing.archived)];
    listing::page(query, &SOURCE, condition, more, listing, read)
}

pub fn find<Q: Query + ?Sized>(
    query: &mut Q,
    account: i64,
    uuid: KeyUuid,
) -> Result<Option<AccountKey>, Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM account_key WHERE uuid = ?1 AND account_id = ?2"
    );
    query
        .query_one(sql, params![uuid.to_string(), account])?
        .as_ref()
        .map(read)
        .transpose()
}

/// What the key with this hash is called, dead or alive.
pub fn uuid_of<Q: Query + ?Sized>(query: &mut Q, hash: &str) -> Result<Option<KeyUuid>, Error> {
    query
        .query_one(
            "SELECT uuid FROM account_key WHERE hash = ?1",
            params![hash],
        )?
        .as_ref()
        .map(|row| super::parse(row, 0))
        .transpose()
}

pub fn rename(tx: &mut dyn Tx, id: i64, name: &ResourceName) -> Result<(), Error> {
    tx.execute(
        "UPDATE account_key SET name = ?2 WHERE id = ?1",
        params![id, name.as_str()],
    )?;
    Ok(())
}

/// The key is dead at once. What was revoked before keeps its time.
pub fn revoke(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE account_key SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL",
        params![id, wall],
    )?;
    Ok(())
}

fn read(row: &Row) -> Result<AccountKey, Error> {
    Ok(AccountKey {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        account: row.get(2)?,
        name: super::parse(row, 3)?,
        created: row.get(4)?,
        expires: row.get(5)?,
        revoked: row.get(6)?,
    })
}
