//! Configuring and starting one machine.

use std::path::Path;

use serde_json::{Value, json};

use super::api::{Api, broken};
use super::place::Place;
use crate::Error;
use crate::microvm::{Disks, Shape};

/// The guest's address among machines of its own host, of which there is one.
const GUEST_CID: u32 = 3;

/// As many as Firecracker takes.
const MAX_CPUS: u32 = 32;

/// What a machine is made of.
pub(super) struct Hardware<'a> {
    pub(super) shape: Shape,
    pub(super) kernel: &'a Path,
    pub(super) initramfs: Option<&'a str>,
    pub(super) disks: Option<&'a Disks>,
    pub(super) console: bool,
}

impl Hardware<'_> {
    /// Gives the machine its parts, in an order in which each may come, and starts it.
    pub(super) fn start(&self, api: &mut Api, place: &Place) -> Result<(), Error> {
        for (path, body) in self.requests(place)? {
            api.put(path, &body)?;
        }
        Ok(())
    }

    fn requests(&self, place: &Place) -> Result<Vec<(&'static str, Value)>, Error> {
        if self.shape.cpus > MAX_CPUS {
            return Err(Error::Spec {
                reason: format!("Firecracker has at most {MAX_CPUS} CPUs"),
            });
        }
        let mut boot = json!({
            "kernel_image_path": text(self.kernel)?,
            "boot_args": self.command_line(),
        });
        if let Some(initramfs) = self.initramfs {
            boot["initrd_path"] = json!(initramfs);
        }
        let mut requests = vec![
            (
                "/machine-config",
                json!({
                    "vcpu_count": self.shape.cpus,
                    "mem_size_mib": self.shape.memory_bytes >> 20,
                }),
            ),
            ("/boot-source", boot),
        ];
        if let Some(disks) = self.disks {
            requests.push(("/drives/base", drive("base", &disks.base, true)));
            requests.push(("/drives/scratch", drive("scratch", &disks.scratch, false)));
        }
        requests.push((
            "/vsock",
            json!({ "guest_cid": GUEST_CID, "uds_path": text(&place.vsock())? }),
        ));
        requests.push(("/entropy", json!({})));
        requests.push(("/actions", json!({ "action_type": "InstanceStart" })));
        Ok(requests)
    }

    fn command_line(&self) -> String {
        let console = if self.console {
            "console=ttyS0"
        } else {
            "quiet"
        };
        format!("{console} reboot=k panic=1 i8042.noaux i8042.nomux")
    }
}

fn drive(id: &str, path: &str, read_only: bool) -> Value {
    json!({
        "drive_id": id,
        "path_on_host": path,
        "is_root_device": false,
        "is_read_only": read_only,
        // Nothing of these disks is read after a crash.
        "cache_type": "Unsafe",
        "io_engine": "Sync",
    })
}

fn text(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| broken("a path is not utf-8"))
}
