//! Real faults: full disks, failing reads and writes, failing fsyncs, and processes that are killed.
//!
//! The process under fault is this test binary again, running one test of [`process`] with a plan in its environment
//! and, where system calls must fail, a small library in front of libc.

mod disk;
mod process;
mod shim;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::{Error, Store, StoreConfig, SystemClock, SystemEntropy, Tx, params};

fn open(directory: &Path) -> Result<Store, Error> {
    let database = directory.join("kiln.db").display().to_string();
    let clock = Arc::new(SystemClock::new());
    Store::open(&StoreConfig::new(database, clock, Arc::new(SystemEntropy)))
}

/// Writes row `number`, with `size` bytes in it.
fn write(store: &Store, number: i64, size: usize) -> Result<(), Error> {
    let body = move |tx: &mut dyn Tx| {
        let (key, value) = (number.to_be_bytes().to_vec(), vec![7_u8; size]);
        tx.execute(
            "INSERT INTO kernel (dbi, key, value) VALUES (9, ?1, ?2)",
            params![key, value],
        )
    };
    store.ledger.submit(body).wait().map(drop)
}

/// Opens what a fault left behind: it must be sound, and hold every acknowledged row.
fn check(directory: &Path, acknowledged: &BTreeSet<i64>) {
    let store = open(directory).unwrap();
    let verdict = store.reader.read(|query| {
        let row = query
            .query_one("PRAGMA integrity_check", &[])?
            .ok_or(Error::Closed)?;
        row.get::<String>(0)
    });
    assert_eq!(verdict.wait().unwrap(), "ok");
    let rows = store.reader.read(|query| {
        let rows = query.query("SELECT key FROM kernel WHERE dbi = 9", &[])?;
        rows.iter()
            .map(|row| row.get::<Vec<u8>>(0))
            .collect::<Result<Vec<_>, Error>>()
    });
    let stored: BTreeSet<i64> = rows
        .wait()
        .unwrap()
        .into_iter()
        .map(|key| i64::from_be_bytes(key.try_into().unwrap()))
        .collect();
    let lost: Vec<_> = acknowledged.difference(&stored).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    write(&store, i64::MAX, 1).unwrap();
    store.close();
}
