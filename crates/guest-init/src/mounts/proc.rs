//! `/proc` of the new process namespace, without the parts that tell about or change the host.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use kiln_guest_init::protocol::Stage;
use rustix::fs::{AtFlags, CWD, FileType, Mode, mkdir, rmdir, statat};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, mount_bind};

use super::tree::{attach, directory, new_mount};
use crate::fault::{At, Fault};
use crate::sys;

/// Hidden: a directory shows an empty one instead, a file reads as empty.
const MASKED: [&CStr; 11] = [
    c"/proc/acpi",
    c"/proc/asound",
    c"/proc/interrupts",
    c"/proc/kcore",
    c"/proc/keys",
    c"/proc/key-users",
    c"/proc/latency_stats",
    c"/proc/sched_debug",
    c"/proc/scsi",
    c"/proc/timer_list",
    c"/proc/timer_stats",
];

/// Readable, but never writable.
const READ_ONLY: [&CStr; 5] = [
    c"/proc/bus",
    c"/proc/fs",
    c"/proc/irq",
    c"/proc/sys",
    c"/proc/sysrq-trigger",
];

pub(super) fn mount_proc(root: &OwnedFd) -> Result<(), Fault> {
    let target = directory(Stage::Proc, root, "proc", 0o555)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc = new_mount(Stage::Proc, "proc", &[], attributes)?;
    attach(Stage::Proc, &proc, target.as_fd(), "/proc")
}

/// Covers parts of `/proc`. To be called in the new root, where the path is certain to be ours.
pub(crate) fn mask() -> Result<(), Fault> {
    for path in MASKED {
        let shown = path.to_string_lossy();
        match statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno).at(Stage::Proc, || format!("cannot look at {shown}")),
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {
                cover_directory(path).at(Stage::Proc, || format!("cannot hide {shown}"))?;
            }
            Ok(_) => {
                mount_bind("/dev/null", path).at(Stage::Proc, || format!("cannot hide {shown}"))?;
            }
        }
    }
    for path in READ_ONLY {
        let shown = path.to_string_lossy();
        match mount_bind(path, path) {
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno).at(Stage::Proc, || format!("cannot cover {shown}")),
            Ok(()) => {
                sys::set_read_only(path).at(Stage::Proc, || format!("cannot protect {shown}"))?;
            }
        }
    }
    Ok(())
}

/// Nothing can ever be put into the directory that is shown instead, as it has been removed.
fn cover_directory(path: &CStr) -> rustix::io::Result<()> {
    const EMPTY: &CStr = c"/dev/empty";
    mkdir(EMPTY, Mode::from_raw_mode(0o555))?;
    mount_bind(EMPTY, path)?;
    rmdir(EMPTY)
}
