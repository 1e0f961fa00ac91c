//! Single values that outlive a process.

use crate::{Error, Query, Tx, params};

pub fn get<Q: Query + ?Sized>(query: &mut Q, name: &str) -> Result<Option<String>, Error> {
    query
        .query_one("SELECT value FROM setting WHERE name = ?1", params![name])?
        .map(|row| row.get(0))
        .transpose()
}

pub fn put(tx: &mut dyn Tx, name: &str, value: &str) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO setting (name, value) VALUES (?1, ?2) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        params![name, value],
    )?;
    Ok(())
}

pub fn remove(tx: &mut dyn Tx, name: &str) -> Result<(), Error> {
    tx.execute("DELETE FROM setting WHERE name = ?1", params![name])?;
    Ok(())
}

/// Writes unless the name is taken; answers what is there afterwards.
pub fn put_if_absent(tx: &mut dyn Tx, name: &str, value: &str) -> Result<String, Error> {
    tx.execute(
        "INSERT INTO setting (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
        params![name, value],
    )?;
    get(tx, name)?.ok_or_else(|| Error::Corrupt {
        what: format!("setting {name} vanished"),
    })
}
