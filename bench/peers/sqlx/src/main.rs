#![doc = include_str!("../README.md")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, Row, SqliteConnection};

const SCHEMA: &str = include_str!("../../../sql/schema.sql");
const INSERT: &str = include_str!("../../../sql/insert.sql");
const CLAIM: &str = include_str!("../../../sql/claim.sql");
const START: &str = include_str!("../../../sql/start.sql");
const FINISH: &str = include_str!("../../../sql/finish.sql");

const USAGE: &str = "usage: kiln-bench-peer-sqlx DATABASE LANE WORK BACKLOG CLOSURES_PER_COMMIT WARM_UP_MS MEASURED_MS";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, lane, work, backlog, per_commit, warm_up, measured] = arguments.as_slice()
    else {
        return Err(USAGE.into());
    };
    let peer = Peer {
        lane: lane.parse()?,
        work,
        per_commit: per_commit.parse()?,
    };
    let windows = [warm_up, measured].map(|window| window.parse().map(Duration::from_millis));
    let [warm_up, measured] = windows;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let mut connection = peer.open(Path::new(database), backlog.parse()?).await?;
        peer.run_for(&mut connection, warm_up?).await?;
        let (closures, spent) = peer.run_for(&mut connection, measured?).await?;
        let answer = serde_json::json!({ "closures": closures, "seconds": spent.as_secs_f64() });
        connection.close().await?;
        serde_json::to_writer(std::io::stdout(), &answer)?;
        Ok(())
    })
}

struct Peer<'a> {
    lane: i64,
    work: &'a str,
    per_commit: u64,
}

impl Peer<'_> {
    /// Opens the database, and makes it when this is the first run.
    async fn open(&self, database: &Path, backlog: i64) -> sqlx::Result<SqliteConnection> {
        let options = SqliteConnectOptions::new()
            .filename(database)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let is_new = !database.exists();
        let mut connection = SqliteConnection::connect_with(&options).await?;
        if is_new {
            sqlx::raw_sql(SCHEMA).execute(&mut connection).await?;
            let mut transaction = connection.begin().await?;
            for number in 0..backlog {
                self.insert(&mut transaction, number).await?;
            }
            transaction.commit().await?;
        }
        Ok(connection)
    }

    /// Runs closures, some to a commit, until the window is over; answers how many and how long it took.
    async fn run_for(
        &self,
        connection: &mut SqliteConnection,
        window: Duration,
    ) -> sqlx::Result<(u64, Duration)> {
        #[expect(
            clippy::disallowed_methods,
            reason = "a measurement reads the real clock"
        )]
        let began = Instant::now();
        let mut closures: u64 = 0;
        while began.elapsed() < window {
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
            for _ in 0..self.per_commit {
                self.closure(&mut transaction, closures.cast_signed())
                    .await?;
                closures += 1;
            }
            transaction.commit().await?;
        }
        Ok((closures, began.elapsed()))
    }

    async fn closure(&self, connection: &mut SqliteConnection, number: i64) -> sqlx::Result<()> {
        self.insert(connection, number).await?;
        let row = sqlx::query(CLAIM)
            .bind(self.lane)
            .bind(number)
            .bind(number)
            .fetch_one(&mut *connection)
            .await?;
        let (id, epoch): (i64, i64) = (row.get(0), row.get(1));
        for sql in [START, FINISH] {
            let guarded = sqlx::query(sql).bind(id).bind(epoch).bind(number);
            let changed = guarded.execute(&mut *connection).await?.rows_affected();
            assert_eq!(
                changed, 1,
                "a guarded update found its row in another state"
            );
        }
        Ok(())
    }

    async fn insert(&self, connection: &mut SqliteConnection, number: i64) -> sqlx::Result<()> {
        sqlx::query(INSERT)
            .bind(self.lane)
            .bind(number % 4)
            .bind(self.work)
            .bind(number)
            .execute(connection)
            .await
            .map(drop)
    }
}
