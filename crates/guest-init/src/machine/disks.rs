//! The machine's two disks: a read-only base and a writable scratch.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kiln_guest_init::protocol::{Stage, machine};
use rustix::mount::{MountFlags, mount};

use crate::fault::{At, Fault};

const DEVICES: &str = "/sys/bus/virtio/devices";
const DRIVER: &str = "/sys/bus/virtio/drivers/virtio_blk";
const BLOCKS: &str = "/sys/block";

/// A disk's number among virtio devices.
const BLOCK_DEVICE: &str = "0x0002";

pub(super) fn mount_all() -> Result<(), Fault> {
    look_at_disks()?;
    let disks = Disks::find()?;
    let flags = MountFlags::NOATIME | MountFlags::NODEV;
    mount_disk(&disks.base, machine::BASE, flags | MountFlags::RDONLY, c"")?;
    // Nothing of this disk is read after a crash, so nothing need be written in order.
    mount_disk(
        &disks.scratch,
        machine::SCRATCH,
        flags,
        c"nobarrier,data=writeback",
    )
}

/// Binds the driver to every disk. One that a kernel has bound by itself is released first: its size may be another one
/// now.
fn look_at_disks() -> Result<(), Fault> {
    let devices =
        fs::read_dir(DEVICES).at(Stage::Disks, || "the kernel has no virtio bus".into())?;
    for device in devices.flatten().map(|entry| entry.path()) {
        let kind = fs::read_to_string(device.join("device")).unwrap_or_default();
        if kind.trim_end() != BLOCK_DEVICE {
            continue;
        }
        let name = device
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let tell_driver = |order: &str| fs::write(format!("{DRIVER}/{order}"), &name);
        if device.join("driver").exists() {
            tell_driver("unbind").at(Stage::Disks, || format!("cannot release {name}"))?;
        }
        tell_driver("bind").at(Stage::Disks, || format!("cannot use the disk {name}"))?;
    }
    Ok(())
}

struct Disks {
    base: PathBuf,
    scratch: PathBuf,
}

impl Disks {
    /// Tells the disks apart by the one thing that every monitor passes on: whether they can be written to.
    fn find() -> Result<Self, Fault> {
        let mut disks: Vec<(bool, PathBuf)> = Vec::new();
        let blocks = fs::read_dir(BLOCKS).at(Stage::Disks, || "the kernel has no disks".into())?;
        for entry in blocks.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("vd") {
                disks.push((is_read_only(&entry.path())?, Path::new("/dev").join(name)));
            }
        }
        disks.sort_by_key(|(read_only, _)| !read_only);
        match <[(bool, PathBuf); 2]>::try_from(disks) {
            Ok([(true, base), (false, scratch)]) => Ok(Self { base, scratch }),
            _ => Err(Fault::new(
                Stage::Disks,
                "the machine does not have one read-only and one writable disk",
            )),
        }
    }
}

fn is_read_only(block: &Path) -> Result<bool, Fault> {
    let read: io::Result<String> = fs::read_to_string(block.join("ro"));
    read.map(|text| text.trim_end() == "1")
        .at(Stage::Disks, || {
            format!("cannot look at {}", block.display())
        })
}

fn mount_disk(
    disk: &Path,
    place: &str,
    flags: MountFlags,
    options: &std::ffi::CStr,
) -> Result<(), Fault> {
    mount(disk, place, "ext4", flags, options).at(Stage::Disks, || format!("cannot mount {place}"))
}
