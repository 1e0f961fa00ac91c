//! Opening, refusing and closing stores.

use std::path::Path;
use std::sync::{Arc, Barrier};

use tempfile::TempDir;

use super::*;
use crate::migrate::Found;
use crate::migrations::MIGRATIONS;
use crate::testing::{ManualClock, admin, postgres_database, postgres_port, postgres_url};
use crate::{Owner, SystemEntropy, params};

fn config(database: &str) -> StoreConfig {
    let clock = Arc::new(ManualClock::default());
    let mut config = StoreConfig::new(database, clock, Arc::new(SystemEntropy));
    if config.objects.is_empty() {
        config.objects = "memory:".into();
    }
    config
}

fn open(path: &Path) -> Result<Store, Error> {
    Store::open(&config(path.to_str().unwrap()))
}

fn refusal(opened: Result<Store, Error>) -> String {
    match opened {
        Err(Error::Refused(line)) => {
            assert!(!line.contains('\n'), "{line}");
            line
        }
        other => panic!("expected a refusal, not {other:?}"),
    }
}

fn write(store: &Store, name: &'static str) {
    let body = move |tx: &mut dyn crate::Tx| {
        tx.execute(
            "INSERT INTO kernel (dbi, key, value) VALUES (9, ?1, ?1)",
            params![name.as_bytes()],
        )
    };
    store.ledger.submit(body).wait().unwrap();
}

fn count(store: &Store) -> i64 {
    let read = store.reader.read(|query| {
        query
            .query_one("SELECT COUNT(*) FROM kernel WHERE dbi = 9", &[])?
            .ok_or(Error::Closed)?
            .get(0)
    });
    let answer: Result<i64, Error> = read.wait();
    answer.unwrap()
}

#[test]
fn a_store_is_made_closed_and_opened_again_with_what_was_in_it() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("kiln.db");
    let store = open(&path).unwrap();
    write(&store, "first");
    assert_eq!(count(&store), 1);
    store.close();
    let again = open(&path).unwrap();
    assert_eq!(count(&again), 1);
    again.close();
}

#[test]
fn the_same_on_postgres() {
    let url = postgres_database();
    let store = Store::open(&config(&url)).unwrap();
    write(&store, "first");
    assert_eq!(count(&store), 1);
    store.close();
    let again = Store::open(&config(&url)).unwrap();
    assert_eq!(count(&again), 1);
    again.close();
}

#[test]
fn the_database_is_durable_and_keeps_its_foreign_keys() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory.path().join("kiln.db")).unwrap();
    let pragmas = store.ledger.submit(|tx| {
        let mut read = |sql: &str| tx.query_one(sql, &[])?.ok_or(Error::Closed)?.get::<i64>(0);
        Ok::<_, Error>((read("PRAGMA synchronous")?, read("PRAGMA foreign_keys")?))
    });
    assert_eq!(pragmas.wait().unwrap(), (2, 1));
    let mode = store.ledger.submit(|tx| {
        tx.query_one("PRAGMA journal_mode", &[])?
            .ok_or(Error::Closed)?
            .get::<String>(0)
    });
    assert_eq!(mode.wait().unwrap(), "wal");
    store.close();
}

#[test]
fn a_second_process_is_told_who_has_the_database() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("kiln.db");
    let store = open(&path).unwrap();
    store.announce("http://127.0.0.1:6610").unwrap();
    let line = refusal(open(&path));
    assert!(
        line.contains(&format!(
            "process {} at http://127.0.0.1:6610",
            std::process::id()
        )),
        "{line}"
    );
    let owner = Owner::of(&path).unwrap().unwrap();
    assert_eq!(owner.address.as_deref(), Some("http://127.0.0.1:6610"));
    store.close();
    assert_eq!(Owner::of(&path).unwrap(), None);
    open(&path).unwrap().close();
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("kiln.db");
    let text = "this is a letter, not a database. ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    assert!(refusal(open(&path)).contains("is not a SQLite database"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_database_of_another_application_is_refused_and_left_alone() {
    for schema in [
        "CREATE TABLE songs (title TEXT)",
        "CREATE TABLE meta (key TEXT, value TEXT)",
    ] {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("kiln.db");
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute_batch(schema)
            .unwrap();
        let before = std::fs::read(&path).unwrap();
        assert!(refusal(open(&path)).contains("belongs to another application"));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
    let url = postgres_database();
    admin_in(&url, "CREATE TABLE songs (title TEXT)");
    assert!(refusal(Store::open(&config(&url))).contains("belongs to another application"));
}

#[test]
fn a_newer_database_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("kiln.db");
    open(&path).unwrap().close();
    let newer = format!("UPDATE meta SET schema_version = {}", MIGRATIONS.len() + 1);
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch(&newer)
        .unwrap();
    let line = refusal(open(&path));
    assert!(
        line.contains("newer Kiln") && line.contains("upgrade this binary"),
        "{line}"
    );

    let url = postgres_database();
    Store::open(&config(&url)).unwrap().close();
    admin_in(&url, &newer);
    assert!(refusal(Store::open(&config(&url))).contains("newer Kiln"));
}

#[test]
fn an_older_database_is_migrated() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("kiln.db");
    {
        let mut session = Transaction::new(Sqlite::open(&path).unwrap());
        migrate::migrate_to(&mut session, Found::Empty, 1, &SystemEntropy).unwrap();
    }
    let store = open(&path).unwrap();
    let version = store.reader.read(|query| {
        query
            .query_one("SELECT schema_version FROM meta", &[])?
            .ok_or(Error::Closed)?
            .get::<i64>(0)
    });
    assert_eq!(
        version.wait().unwrap(),
        i64::try_from(MIGRATIONS.len()).unwrap()
    );
    store.close();
}

#[test]
fn a_missing_directory_is_refused_by_name_and_not_made() {
    let directory = TempDir::new().unwrap();
    let missing = directory.path().join("nowhere");
    let line = refusal(open(&missing.join("kiln.db")));
    assert!(line.contains("does not exist; create it"), "{line}");
    assert!(!missing.exists());
}

#[test]
fn a_path_that_is_a_directory_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("kiln.db");
    std::fs::create_dir(&path).unwrap();
    let line = refusal(open(&path));
    assert!(line.contains("cannot be opened"), "{line}");
}

#[test]
fn an_unreachable_postgres_is_refused_with_advice() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let line = refusal(Store::open(&config(&format!(
        "postgres://kiln@127.0.0.1:{port}/kiln"
    ))));
    assert!(
        line.contains("cannot be reached") && line.contains("check that it runs"),
        "{line}"
    );
}

#[test]
fn a_wrong_password_is_refused_and_not_shown() {
    let url = postgres_database();
    let database = url.rsplit_once('/').unwrap().1;
    admin(
        "DO $$ BEGIN CREATE ROLE secret LOGIN PASSWORD 'right'; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
    );
    let wrong = format!(
        "postgres://secret:hunter2@127.0.0.1:{}/{database}",
        postgres_port()
    );
    let line = refusal(Store::open(&config(&wrong)));
    assert!(
        line.contains("refused the password") && !line.contains("hunter2"),
        "{line}"
    );
}

#[test]
fn a_missing_postgres_database_is_refused_with_the_command_that_makes_it() {
    let line = refusal(Store::open(&config(&postgres_url("not_there"))));
    assert!(line.contains("createdb not_there"), "{line}");
}

#[test]
fn servers_that_start_together_on_an_empty_postgres_make_one_schema() {
    let url = postgres_database();
    let gate = Arc::new(Barrier::new(4));
    let servers: Vec<_> = (0..4)
        .map(|_| {
            let (url, gate) = (url.clone(), Arc::clone(&gate));
            std::thread::spawn(move || {
                gate.wait();
                Store::open(&config(&url))
            })
        })
        .collect();
    for server in servers {
        server.join().unwrap().unwrap().close();
    }
}

#[test]
fn a_panic_in_a_read_is_told_and_the_connection_goes_on() {
    let directory = TempDir::new().unwrap();
    let mut config = config(directory.path().join("kiln.db").to_str().unwrap());
    config.readers = 1;
    let store = Store::open(&config).unwrap();
    let panicked = store
        .reader
        .read(|_| -> Result<(), Error> { panic!("on purpose") });
    assert!(matches!(panicked.wait(), Err(Error::Panicked { .. })));
    assert_eq!(count(&store), 0);
    store.close();
}

#[test]
fn a_read_sees_one_snapshot() {
    let directory = TempDir::new().unwrap();
    for database in [
        directory.path().join("kiln.db").display().to_string(),
        postgres_database(),
    ] {
        let store = Store::open(&config(&database)).unwrap();
        let writer = store.clone();
        let read = store.reader.read(move |query| {
            let mut count = || {
                query
                    .query_one("SELECT COUNT(*) FROM kernel WHERE dbi = 9", &[])?
                    .ok_or(Error::Closed)?
                    .get::<i64>(0)
            };
            let before = count()?;
            write(&writer, "meanwhile");
            Ok::<_, Error>((before, count()?))
        });
        assert_eq!(read.wait().unwrap(), (0, 0));
        assert_eq!(count(&store), 1);
        store.close();
    }
}

fn admin_in(url: &str, sql: &str) {
    let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
    client.batch_execute(sql).unwrap();
}
