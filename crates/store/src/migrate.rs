//! Bringing a database to this binary's schema, and refusing one that is not ours to touch.

use kiln_model::{Entropy, Millis};

use crate::engine::Session;
use crate::migrations::{MIGRATIONS, Migration};
use crate::{Error, params};

const APPLICATION: &str = "kiln";

/// What the guard found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing at all: a database to be made.
    Empty,
    /// One of ours, at this schema version.
    Version(usize),
}

/// Looks at a database without changing it, and refuses one that is foreign or newer. `name` is how the person who
/// started the server calls it.
pub(crate) fn guard(session: &mut dyn Session, name: &str) -> Result<Found, Error> {
    let tables = session.tables()?;
    if tables.is_empty() {
        return Ok(Found::Empty);
    }
    let foreign = || {
        Error::Refused(format!(
            "{name} belongs to another application; give Kiln a database of its own"
        ))
    };
    if !tables.iter().any(|table| table == "meta") {
        return Err(foreign());
    }
    // A failure here means that `meta` has other columns than ours.
    let row = session
        .query("SELECT application, schema_version FROM meta", &[])
        .map_err(|_| foreign())?;
    let row = row.first().ok_or_else(foreign)?;
    if row.get::<String>(0).map_err(|_| foreign())? != APPLICATION {
        return Err(foreign());
    }
    let version = row.get::<i64>(1)?;
    let known = MIGRATIONS.len();
    match usize::try_from(version) {
        Ok(version) if version <= known => Ok(Found::Version(version)),
        _ => Err(Error::Refused(format!(
            "{name} was written by a newer Kiln (schema {version}, this one knows {known}); upgrade this binary, or restore a backup made before the upgrade"
        ))),
    }
}

/// Applies what is missing, each migration in a transaction of its own.
pub(crate) fn migrate(
    session: &mut dyn Session,
    found: Found,
    entropy: &dyn Entropy,
) -> Result<(), Error> {
    migrate_to(session, found, MIGRATIONS.len(), entropy)
}

/// The same, up to an older version.
pub(crate) fn migrate_to(
    session: &mut dyn Session,
    found: Found,
    version: usize,
    entropy: &dyn Entropy,
) -> Result<(), Error> {
    let applied = match found {
        Found::Empty => 0,
        Found::Version(version) => version,
    };
    for (index, migration) in MIGRATIONS[..version].iter().enumerate().skip(applied) {
        session.script("BEGIN")?;
        let outcome =
            apply(session, migration, index + 1, entropy).and_then(|()| session.script("COMMIT"));
        if let Err(error) = outcome {
            session.rollback();
            return Err(error);
        }
        tracing::info!(migration = migration.name, "migrated");
    }
    Ok(())
}

/// The kernel-time mark of the last run.
pub(crate) fn kernel_time(session: &mut dyn Session) -> Result<Millis, Error> {
    let row = session.query_one("SELECT kernel_time FROM meta", &[])?;
    row.ok_or_else(|| Error::Corrupt {
        what: "the table meta is empty".into(),
    })?
    .get(0)
}

fn apply(
    session: &mut dyn Session,
    migration: &Migration,
    version: usize,
    entropy: &dyn Entropy,
) -> Result<(), Error> {
    session.script(&migration.script.text(session.engine()))?;
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    if version == 1 {
        let mut store_id = [0; 16];
        entropy.fill(&mut store_id);
        session.execute(
            "INSERT INTO meta (id, application, schema_version, store_id, kernel_time) VALUES (1, ?1, ?2, ?3, 0)",
            params![APPLICATION, version, &store_id[..]],
        )?;
    } else {
        session.execute("UPDATE meta SET schema_version = ?1", params![version])?;
    }
    Ok(())
}
