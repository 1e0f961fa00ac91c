//! A machine that was booted once, stopped where its guest waits for a host, and written down.
//!
//! A guest that was restored finds its connections reset and its disks to be others. Ours waits for a host that connects
//! anew, and mounts no disk before it is told to.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::json;

use super::api::{Api, broken};
use super::place::{Access, MEMORY, Place, STATE};
use crate::Error;
use crate::microvm::{Weighed, allocated_bytes};

/// A disk that is slower than thirty megabytes a second has another use than this.
const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Debug)]
pub(super) struct Snapshot {
    place: Place,
}

impl Snapshot {
    /// Stops the machine of this place for ever, and writes it down. Its process must have ended before the snapshot is
    /// used. Whoever is connected to its guest stays so until then: some releases lose what is on its way when a machine
    /// is stopped, and the last words of a connection would be.
    pub(super) fn take(api: &mut Api, place: Place) -> Result<Self, Error> {
        api.patch("/vm", &json!({ "state": "Paused" }))?;
        let files = json!({
            "snapshot_type": "Full",
            "snapshot_path": STATE,
            "mem_file_path": MEMORY,
        });
        api.put_within(PATIENCE, "/snapshot/create", &files)?;
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

impl Weighed for Snapshot {
    fn bytes(&self) -> u64 {
        [STATE, MEMORY]
            .iter()
            .filter_map(|file| fs::metadata(self.place.path(file)).ok())
            .map(|found| allocated_bytes(&found))
            .sum()
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
