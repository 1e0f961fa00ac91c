//! Administrative changes. Rows are added and never changed.

use kiln_model::Millis;

use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    pub id: i64,
    pub at: Millis,
    pub actor: String,
    pub action: String,
    pub subject: String,
    pub detail: Option<String>,
}

pub fn append(
    tx: &mut dyn Tx,
    actor: &str,
    action: &str,
    subject: &str,
    detail: Option<&str>,
) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "INSERT INTO audit_entry (at, actor, action, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![wall, actor, action, subject, detail],
    )?;
    Ok(())
}

/// The newest first; of one subject only when it is given.
pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    subject: Option<&str>,
    limit: u32,
    offset: i64,
) -> Result<(Vec<AuditEntry>, u64), Error> {
    let subject = subject.unwrap_or_default();
    let total = query.query_one(
        "SELECT COUNT(*) FROM audit_entry WHERE (?1 = '' OR subject = ?1)",
        params![subject],
    )?;
    let total = total.map_or(Ok(0), |row| row.get(0))?;
    let rows = query.query(
        "SELECT id, at, actor, action, subject, detail FROM audit_entry \
         WHERE (?1 = '' OR subject = ?1) ORDER BY id DESC LIMIT ?2 OFFSET ?3",
        params![subject, limit, offset],
    )?;
    let entries = rows.iter().map(read).collect::<Result<_, _>>()?;
    Ok((entries, total))
}

fn read(row: &Row) -> Result<AuditEntry, Error> {
    Ok(AuditEntry {
        id: row.get(0)?,
        at: row.get(1)?,
        actor: row.get(2)?,
        action: row.get(3)?,
        subject: row.get(4)?,
        detail: row.get(5)?,
    })
}
