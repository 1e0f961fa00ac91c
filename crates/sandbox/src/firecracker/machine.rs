//! Configuring and starting one machine.

use std::path::Path;

use serde_json::{Value, json};

use super::api::{Api, broken};
use super::place::{Access, BASE, INITRAMFS, KERNEL, Place, SCRATCH, VSOCK};
use crate::Error;
use crate::microvm::{Disks, STEADY, Shape};

/// The guest's address among machines of its own host, of which there is one.
const GUEST_CID: u32 = 3;

/// As many as Firecracker takes.
const MAX_CPUS: u32 = 32;

/// What a machine is made of.
pub(super) struct Hardware<'a> {
    pub(super) shape: Shape,
    pub(super) kernel: &'a Path,
    pub(super) initramfs: Option<String>,
    pub(super) disks: Option<&'a Disks>,
    pub(super) console: bool,
    /// The host's end of its network device.
    pub(super) tap: Option<&'a str>,
}

impl Hardware<'_> {
    /// Puts the files of the machine where its monitor finds them.
    pub(super) fn put_into(&self, place: &Place) -> Result<(), Error> {
        let kernel = self
            .kernel
            .canonicalize()
            .map_err(|error| Error::host("cannot find the guest kernel", error))?;
        let kernel = kernel
            .to_str()
            .ok_or_else(|| broken("the kernel's path is not utf-8"))?;
        place.put(KERNEL, kernel, Access::Read)?;
        if let Some(initramfs) = &self.initramfs {
            place.put(INITRAMFS, initramfs, Access::Read)?;
        }
        match self.disks {
            Some(disks) => put_disks(disks, place),
            None => Ok(()),
        }
    }

    /// Gives the machine its parts, in an order in which each may come, and starts it.
    pub(super) fn start(&self, api: &mut Api) -> Result<(), Error> {
        for (path, body) in self.requests()? {
            api.put(path, &body)?;
        }
        Ok(())
    }

    fn requests(&self) -> Result<Vec<(&'static str, Value)>, Error> {
        if self.shape.cpus > MAX_CPUS {
            return Err(Error::Spec {
                reason: format!("Firecracker has at most {MAX_CPUS} CPUs"),
            });
        }
        let mut boot = json!({
            "kernel_image_path": KERNEL,
            "boot_args": self.command_line(),
        });
        if self.initramfs.is_some() {
            boot["initrd_path"] = json!(INITRAMFS);
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
        if self.disks.is_some() {
            requests.push(("/drives/base", drive(BASE, true)));
            requests.push(("/drives/scratch", drive(SCRATCH, false)));
        }
        if let Some(tap) = self.tap {
            requests.push((
                "/network-interfaces/net",
                json!({ "iface_id": "net", "host_dev_name": tap }),
            ));
        }
        requests.push((
            "/vsock",
            json!({ "guest_cid": GUEST_CID, "uds_path": VSOCK }),
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
        // There is no keyboard but for its reset line.
        let keyboard = "i8042.noaux i8042.nomux i8042.nopnp i8042.dumbkbd";
        format!("{console} reboot=k panic=1 {keyboard} {STEADY}")
    }
}

pub(super) fn put_disks(disks: &Disks, place: &Place) -> Result<(), Error> {
    place.put(BASE, &disks.base, Access::Read)?;
    place.put(SCRATCH, &disks.scratch, Access::Write)
}

/// A disk whose file has the same name as the disk.
fn drive(id: &str, read_only: bool) -> Value {
    json!({
        "drive_id": id,
        "path_on_host": id,
        "is_root_device": false,
        "is_read_only": read_only,
        // Nothing of these disks is read after a crash.
        "cache_type": "Unsafe",
        "io_engine": "Sync",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_gets_its_parts_before_it_starts() {
        let disks = Disks {
            base: "/a".into(),
            scratch: "/b".into(),
        };
        let hardware = Hardware {
            shape: Shape {
                cpus: 2,
                memory_bytes: 256 << 20,
                network: true,
            },
            kernel: Path::new("/kernel"),
            initramfs: Some("/initramfs".into()),
            disks: Some(&disks),
            console: false,
            tap: Some("kiln7"),
        };
        let requests = hardware.requests().unwrap();
        let boot = requests.iter().find(|(path, _)| *path == "/boot-source");
        let arguments = boot.unwrap().1["boot_args"].as_str().unwrap();
        assert!(arguments.ends_with(STEADY), "{arguments}");
        let paths: Vec<&str> = requests.iter().map(|(path, _)| *path).collect();
        assert_eq!(
            paths,
            [
                "/machine-config",
                "/boot-source",
                "/drives/base",
                "/drives/scratch",
                "/network-interfaces/net",
                "/vsock",
                "/entropy",
                "/actions",
            ]
        );
        assert_eq!(
            requests[4].1,
            json!({ "iface_id": "net", "host_dev_name": "kiln7" })
        );
    }

    #[test]
    fn more_processors_than_firecracker_has_are_refused() {
        let hardware = Hardware {
            shape: Shape {
                cpus: MAX_CPUS + 1,
                memory_bytes: 256 << 20,
                network: false,
            },
            kernel: Path::new("/kernel"),
            initramfs: None,
            disks: None,
            console: false,
            tap: None,
        };
        assert!(matches!(hardware.requests(), Err(Error::Spec { .. })));
    }
}
