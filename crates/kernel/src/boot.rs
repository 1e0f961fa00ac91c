//! What must be true before a runner runs: the databases are where the manifest says, and the schema is ours.

use crate::keys::SCHEMA_KEY;
use crate::records::SchemaVersion;
use crate::{Dbi, Kv, KvTx, Status};

/// One row of a manifest: a number and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestRow {
    pub dbi: u32,
    pub name: &'static str,
}

/// The kernel's own databases. A program that adds its own continues at 7.
pub const MANIFEST: [ManifestRow; 7] = [
    ManifestRow {
        dbi: 0,
        name: "app_state",
    },
    ManifestRow {
        dbi: 1,
        name: "inbox",
    },
    ManifestRow {
        dbi: 2,
        name: "outbox",
    },
    ManifestRow {
        dbi: 3,
        name: "leases",
    },
    ManifestRow {
        dbi: 4,
        name: "timers",
    },
    ManifestRow {
        dbi: 5,
        name: "dedupe",
    },
    ManifestRow {
        dbi: 6,
        name: "dead_letter",
    },
];

/// Opens the databases of a manifest, which must number them 0, 1, 2 and so on without a gap.
pub fn bootstrap_dbis<K: Kv>(kv: &K, manifest: &[ManifestRow]) -> Result<(), Status> {
    if manifest.is_empty() {
        return Err(Status::Error("the manifest names no database".into()));
    }
    let mut dbis = Vec::with_capacity(manifest.len());
    for (expected, row) in (0u8..).zip(manifest) {
        if row.dbi != u32::from(expected) {
            let found = row.dbi;
            return Err(Status::Error(format!(
                "manifest row {expected} ({}) is database {found}, not {expected}",
                row.name
            )));
        }
        dbis.push(Dbi(expected));
    }
    kv.read(move |tx| {
        dbis.iter()
            .try_for_each(|dbi| tx.scan(*dbi, &[], None, 1).map(drop))
    })
}

/// Compares the schema marker with what the program expects.
///
/// Another version, or bytes that are no marker, is [`Status::Conflict`]. No marker is [`Status::NotFound`], unless
/// `bootstrap` allows to write one.
pub fn ensure_schema_version<K: Kv>(
    kv: &K,
    expected: SchemaVersion,
    bootstrap: bool,
) -> Result<(), Status> {
    match kv.read(move |tx| check_marker(tx, expected)) {
        Err(Status::NotFound) if bootstrap => {
            kv.write(move |tx| match check_marker(tx, expected) {
                // Looked at again inside the write transaction: another process may have been faster.
                Err(Status::NotFound) => tx.put(Dbi::APP_STATE, SCHEMA_KEY, &expected.to_bytes()),
                checked => checked,
            })
        }
        checked => checked,
    }
}

fn check_marker<T: KvTx + ?Sized>(tx: &mut T, expected: SchemaVersion) -> Result<(), Status> {
    let marker = tx
        .get(Dbi::APP_STATE, SCHEMA_KEY)?
        .ok_or(Status::NotFound)?;
    if SchemaVersion::decode(&marker) == Ok(expected) {
        Ok(())
    } else {
        Err(Status::Conflict)
    }
}
