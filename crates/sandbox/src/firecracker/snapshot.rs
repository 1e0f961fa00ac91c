//! A machine that was booted once, stopped where its guest waits for a host, and written down.
//!
//! A guest that was restored finds its connections reset and its disks to be others. Ours has none of the former, and
//! looks at the latter only when it is told to.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::api::{Api, broken};
use super::place::{Access, MEMORY, Place, STATE};
use crate::Error;

#[derive(Debug)]
pub(super) struct Snapshot {
    place: Place,
}

impl Snapshot {
    /// Stops the machine of this place for ever, and writes it down. Its process must have ended before the snapshot is
    /// used, and nobody may be connected to its guest.
    pub(super) fn take(api: &mut Api, place: Place) -> Result<Self, Error> {
        api.patch("/vm", &json!({ "state": "Paused" }))?;
        api.put(
            "/snapshot/create",
            &json!({
                "snapshot_type": "Full",
                "snapshot_path": STATE,
                "mem_file_path": MEMORY,
            }),
        )?;
        for file in [STATE, MEMORY] {
            // Monitors of other users will read them, and nobody may write.
            fs::set_permissions(place.path(file), Permissions::from_mode(0o444))
                .map_err(|error| Error::host("cannot seal a snapshot", error))?;
        }
        Ok(Self { place })
    }

    /// Puts the snapshot where another machine's monitor finds it.
    pub(super) fn put_into(&self, place: &Place) -> Result<(), Error> {
        for file in [STATE, MEMORY] {
            let path = self.place.path(file);
            let path = path
                .to_str()
                .ok_or_else(|| broken("the working directory's path is not utf-8"))?;
            place.put(file, path, Access::Read)?;
        }
        Ok(())
    }
}

/// Reads a snapshot back, and lets its guest go on.
pub(super) fn load(api: &mut Api) -> Result<(), Error> {
    api.put(
        "/snapshot/load",
        &json!({
            "snapshot_path": STATE,
            "mem_backend": { "backend_type": "File", "backend_path": MEMORY },
        }),
    )?;
    api.patch("/vm", &json!({ "state": "Resumed" }))
}
