//! The machine's two disks: a read-only base and a writable scratch.
//!
//! A machine that is restored from a template has other disks than the template had, and its kernel goes on with what it
//! knew of those. That is nothing but their size, which was larger: not every monitor lets a driver begin anew.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kiln_guest_init::protocol::{Stage, machine};
use rustix::mount::{MountFlags, mount};

use crate::fault::{At, Fault};

const BLOCKS: &str = "/sys/block";

pub(super) fn mount_all() -> Result<(), Fault> {
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
