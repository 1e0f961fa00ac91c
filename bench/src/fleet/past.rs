//! A past: rows as there would be after months, made from those of one job.

use std::path::Path;

use rusqlite::Connection;

use super::world::{ELSEWHERE, SPEC};
use crate::failure::Failure;

/// Copies lie behind these ids, out of the way of what is there.
const REPORTS: &str = "1000000";
const FINISHED: &str = "2000000";
const PENDING: &str = "4000000";
const HELD: &str = "5000000";

/// A database that no server has open.
pub(super) struct Past {
    connection: Connection,
}

impl Past {
    pub(super) fn open(database: &Path) -> Result<Self, Failure> {
        let connection = Connection::open(database)?;
        // If this breaks, the run does; nobody keeps the file.
        connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN")?;
        Ok(Self { connection })
    }

    /// Reports of the project that has one, each with a version of its own.
    pub(super) fn reports(self, count: u32) -> Result<(), Failure> {
        self.copy_reports(REPORTS, count, "id = (SELECT MIN(id) FROM report)")?;
        self.close()
    }

    /// Processed jobs with their reports, versions, events and outputs: copies of the one that there is. Then jobs that wait
    /// ahead of all others, half of them for a spec that nobody serves, half held by a limit that is taken.
    pub(super) fn years(self, finished: u32, waiting: u32) -> Result<(), Failure> {
        let done = "(SELECT MIN(id) FROM job WHERE status = 4)";
        let report = format!("id = (SELECT report_id FROM job WHERE id = {done})");
        self.copy_reports(FINISHED, finished, &report)?;
        let id = format!("{FINISHED} + n");
        let job = [
            ("id", id.as_str()),
            ("public_id", UUID),
            ("report_id", &id),
            ("created", EARLIER),
        ];
        let of_done = format!("job_id = {done}");
        self.copy("job", &format!("id = {done}"), finished, &job)?;
        self.copy("job_event", &of_done, finished, &[("job_id", &id)])?;
        self.copy("job_output", &of_done, finished, &[("job_id", &id)])?;
        self.wait(waiting / 2)?;
        self.close()
    }

    fn wait(&self, count: u32) -> Result<(), Failure> {
        let template = format!(
            "status = 0 AND spec_id = (SELECT id FROM spec WHERE slug = '{ELSEWHERE}') AND id < {FINISHED}"
        );
        let id = format!("{PENDING} + n");
        let pending = [
            ("id", id.as_str()),
            ("public_id", UUID_PENDING),
            ("created", EARLIER),
        ];
        self.copy("job", &template, count, &pending)?;
        let lane = format!("(SELECT lane_id FROM spec WHERE slug = '{SPEC}')");
        let spec = format!("(SELECT id FROM spec WHERE slug = '{SPEC}')");
        let id = format!("{HELD} + n");
        let mut held = vec![
            ("id", id.as_str()),
            ("public_id", UUID_HELD),
            ("lane_id", &lane),
            ("spec_id", &spec),
            ("limit_key", "'organization:held'"),
            ("admitted", "0"),
            ("created", EARLIER),
        ];
        self.copy("job", &template, count, &held)?;
        // The one that has taken the limit runs, on the runner that nobody connects.
        let runner = "(SELECT MAX(id) FROM runner)";
        held[0].1 = HELD;
        held[1].1 = "'taken'";
        held.extend([("status", "2"), ("epoch", "1"), ("runner_id", runner)]);
        self.copy("job", &template, 1, &held)
    }

    fn copy_reports(&self, base: &str, count: u32, which: &str) -> Result<(), Failure> {
        let id = format!("{base} + n");
        let version = format!("(SELECT version_id FROM report WHERE {which})");
        let number = [("id", id.as_str()), ("number", LATER)];
        self.copy("version", &format!("id = {version}"), count, &number)?;
        let of_head = [("version_id", id.as_str())];
        let of_version = format!("version_id = {version}");
        self.copy("head_version", &of_version, count, &of_head)?;
        let report = [
            ("id", id.as_str()),
            ("uuid", UUID),
            ("version", LATER_VERSION),
            ("version_id", &id),
            ("start_time", "t.start_time - 100000000 + n"),
        ];
        self.copy("report", which, count, &report)?;
        let newest = format!(
            "UPDATE branch SET version = version + 1000000 + {count} WHERE id = (SELECT branch_id FROM report WHERE {which})"
        );
        self.connection.execute(&newest, [])?;
        Ok(())
    }

    /// Adds copies of the rows that `which` names, for every n up to `count`. `changes` says what differs: `t` is the row, and
    /// everything else is as it is there.
    fn copy(
        &self,
        table: &str,
        which: &str,
        count: u32,
        changes: &[(&str, &str)],
    ) -> Result<(), Failure> {
        let mut columns = self
            .connection
            .prepare("SELECT name FROM pragma_table_info(?1)")?;
        let columns = columns
            .query_map([table], |row| row.get(0))?
            .collect::<Result<Vec<String>, _>>()?;
        let values = columns.iter().map(|column| {
            let changed = changes.iter().find(|(name, _)| name == column);
            changed.map_or_else(|| format!("t.{column}"), |(_, value)| (*value).to_owned())
        });
        let values: Vec<String> = values.collect();
        let sql = format!(
            "INSERT INTO {table} ({}) WITH RECURSIVE numbers (n) AS \
             (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count}) \
             SELECT {} FROM numbers CROSS JOIN (SELECT * FROM {table} WHERE {which}) AS t",
            columns.join(", "),
            values.join(", ")
        );
        let made = self.connection.execute(&sql, [])?;
        if made < count as usize {
            return Err(Failure::Wrong(format!("only {made} rows of {table}")));
        }
        Ok(())
    }

    fn close(self) -> Result<(), Failure> {
        self.connection
            .execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(())
    }
}

/// Behind the versions that are there.
const LATER: &str = "t.number + 1000000 + n";
const LATER_VERSION: &str = "t.version + 1000000 + n";
const UUID: &str = "printf('%08x-0000-7000-8000-%012x', n, n)";
const UUID_PENDING: &str = "printf('%08x-0000-7000-8001-%012x', n, n)";
const UUID_HELD: &str = "printf('%08x-0000-7000-8002-%012x', n, n)";
/// More than a day before the row that it is a copy of, in order.
const EARLIER: &str = "t.created - 100000000 + n";
