//! What a store needs to be told.

use std::sync::Arc;

use kiln_model::{Clock, Entropy};

use crate::location::Location;

/// What to open, and how.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// A path, `sqlite:PATH`, `sqlite::memory:` or a `postgres://` URL.
    pub database: String,
    /// A directory, `s3://BUCKET/PREFIX?…` or `memory:`.
    pub objects: String,
    /// How many ledgers write side by side on PostgreSQL. On `SQLite` there is one.
    pub writers: usize,
    /// How many connections read.
    pub readers: usize,
    /// Where this server can be reached, for a second process that finds the database in use.
    pub address: Option<String>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
}

impl StoreConfig {
    /// The usual settings. Objects lie in a directory beside a `SQLite` file, and in memory with a database in memory;
    /// with PostgreSQL say where they are.
    pub fn new(
        database: impl Into<String>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let database = database.into();
        let objects = match Location::parse(&database) {
            Ok(Location::Memory) => "memory:".into(),
            Ok(Location::Sqlite(path)) => path.with_file_name("objects").display().to_string(),
            Ok(Location::Postgres(_)) | Err(_) => String::new(),
        };
        Self {
            database,
            objects,
            writers: 2,
            readers: 4,
            address: None,
            clock,
            entropy,
        }
    }
}
