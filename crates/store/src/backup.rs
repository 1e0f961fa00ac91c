//! A copy of a database that is in use.

use std::fs::File;
use std::path::Path;

use crate::engine::sqlite::Sqlite;
use crate::location::Location;
use crate::{DatabaseErrorKind, Error};

/// Copies the database, as it is at one moment, into a new file; nobody waits meanwhile. Blocks until the copy is durable. Only
/// files of SQLite are copied so; whoever runs PostgreSQL has better tools.
pub fn back_up(database: &str, to: &Path) -> Result<(), Error> {
    let path = match Location::parse(database)? {
        Location::Sqlite(path) => path,
        Location::Memory => {
            return Err(Error::Refused(
                "a database in memory is not backed up".to_owned(),
            ));
        }
        Location::Postgres(_) => {
            return Err(Error::Refused(
                "a PostgreSQL database is backed up with its own tools, such as pg_dump".to_owned(),
            ));
        }
    };
    Sqlite::copy(&path, to)?;
    let synced = File::open(to).and_then(|file| file.sync_all());
    let synced = synced.and_then(|()| match to.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    });
    synced.map_err(|error| Error::database(DatabaseErrorKind::Other, error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sql::setting;
    use crate::{Store, StoreConfig, SystemClock, SystemEntropy};

    fn open(path: &Path) -> Store {
        let (clock, entropy) = (Arc::new(SystemClock::new()), Arc::new(SystemEntropy));
        let mut config = StoreConfig::new(path.display().to_string(), clock, entropy);
        "memory:".clone_into(&mut config.objects);
        Store::open(&config).unwrap()
    }

    #[test]
    fn a_copy_holds_what_was_committed_and_opens_by_itself() {
        let directory = tempfile::tempdir().unwrap();
        let (first, copy) = (directory.path().join("a.db"), directory.path().join("b.db"));
        let store = open(&first);
        let put = |value: &'static str| {
            let write = store
                .ledger
                .submit(move |tx| setting::put(tx, "name", value));
            write.wait().unwrap();
        };
        put("before");
        back_up(&first.display().to_string(), &copy).unwrap();
        put("after");
        store.close();
        let copied = open(&copy);
        let read = copied.reader.read(|query| setting::get(query, "name"));
        assert_eq!(read.wait().unwrap().as_deref(), Some("before"));
        copied.close();
    }

    #[test]
    fn a_file_that_is_there_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let (first, copy) = (directory.path().join("a.db"), directory.path().join("b.db"));
        let store = open(&first);
        std::fs::write(&copy, "precious").unwrap();
        assert!(back_up(&first.display().to_string(), &copy).is_err());
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "precious");
        store.close();
    }

    #[test]
    fn other_databases_are_refused_with_what_to_do() {
        let refused = back_up("postgres://somewhere/kiln", Path::new("x")).unwrap_err();
        assert!(refused.to_string().contains("pg_dump"), "{refused}");
        assert!(back_up("sqlite::memory:", Path::new("x")).is_err());
    }
}
