//! A peer: the same statements, cached, on one rusqlite connection.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};

use super::workload::{
    BACKLOG, CLAIM, FINISH, INSERT, LANE, PRIORITIES, SCHEMA, START, WORK, found_its_row,
};
use super::{WRITERS, Writing};
use crate::failure::Failure;
use crate::sample::{Reading, Sample};
use crate::stopwatch::Stopwatch;
use crate::window::Window;

pub(super) struct RusqlitePeer {
    connection: Connection,
    per_commit: u16,
    closures: u64,
    commits: u64,
}

impl RusqlitePeer {
    pub(super) fn open(place: &Path, per_commit: u16) -> Result<Self, Failure> {
        let connection = Connection::open(place.join(format!("rusqlite-{per_commit}.db")))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // Without stable plans SQLite compiles a cached statement again at every use when it compares a column that
        // no index covers with a parameter, as guarded updates do. A ceiling must not have that in it.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.execute_batch(SCHEMA)?;
        let peer = Self {
            connection,
            per_commit,
            closures: 0,
            commits: 0,
        };
        peer.transaction(|peer| (0..BACKLOG).try_for_each(|number| peer.insert(number)))?;
        Ok(peer)
    }

    fn run_for(&mut self, span: Duration) -> Result<Sample, Failure> {
        let stopwatch = Stopwatch::start();
        let before = Reading::take(&stopwatch, self.closures, self.commits);
        while stopwatch.elapsed() < span {
            let numbers = self.closures..self.closures + u64::from(self.per_commit);
            self.transaction(|peer| {
                numbers
                    .clone()
                    .try_for_each(|n| peer.closure(n.cast_signed()))
            })?;
            self.closures = numbers.end;
            self.commits += 1;
        }
        Ok(Reading::take(&stopwatch, self.closures, self.commits).since(&before))
    }

    /// A failed transaction ends the measurement, and the connection with it.
    fn transaction(&self, body: impl Fn(&Self) -> Result<(), Failure>) -> Result<(), Failure> {
        self.connection
            .prepare_cached("BEGIN IMMEDIATE")?
            .execute([])?;
        body(self)?;
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn closure(&self, number: i64) -> Result<(), Failure> {
        self.insert(number)?;
        let mut claim = self.connection.prepare_cached(CLAIM)?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (id, epoch): (i64, i64) = claim.query_row(params![LANE, number, number], read)?;
        for sql in [START, FINISH] {
            let mut guarded = self.connection.prepare_cached(sql)?;
            found_its_row(guarded.execute(params![id, epoch, number])? == 1)?;
        }
        Ok(())
    }

    fn insert(&self, number: i64) -> Result<(), Failure> {
        let mut insert = self.connection.prepare_cached(INSERT)?;
        insert.execute(params![LANE, number % PRIORITIES, WORK, number])?;
        Ok(())
    }
}

impl Writing for RusqlitePeer {
    fn name(&self) -> &'static str {
        if self.per_commit == WRITERS {
            "ceiling: rusqlite, one loop, 64 a commit"
        } else {
            "peer: rusqlite, one commit per closure"
        }
    }

    fn run(&mut self, window: Window) -> Result<Sample, Failure> {
        self.run_for(window.warm_up)?;
        self.run_for(window.measured)
    }
}
