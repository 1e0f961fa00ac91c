//! From the kernel's initial root to one that chambers can be built on.

use std::fs;

use kiln_guest_init::protocol::{Stage, machine};
use rustix::mount::{MountFlags, mount, mount_move};
use rustix::process::{chdir, chroot};

use crate::fault::{At, Fault};

/// Where the new root is put together.
const NEW_ROOT: &str = "/new";

/// What the kernel itself offers, in the order in which it is mounted.
const KERNEL_FILE_SYSTEMS: [(&str, &str); 3] =
    [("devtmpfs", "/dev"), ("proc", "/proc"), ("sysfs", "/sys")];

pub(super) fn mount_kernel_file_systems() -> Result<(), Fault> {
    for (kind, place) in KERNEL_FILE_SYSTEMS {
        make_directory(place)?;
        mount(kind, place, kind, MountFlags::empty(), None)
            .at(Stage::Boot, || format!("cannot mount {place}"))?;
    }
    // Some kernels start a program for each new device, which is never there. Others do not know of it.
    let _ = fs::write("/sys/kernel/uevent_helper", "\n");
    Ok(())
}

/// Puts a root of our own over the kernel's initial one, which can never be left by a change of root.
pub(super) fn move_root() -> Result<(), Fault> {
    make_directory(NEW_ROOT)?;
    mount(
        "tmpfs",
        NEW_ROOT,
        "tmpfs",
        MountFlags::empty(),
        c"mode=0755",
    )
    .at(Stage::Boot, || "cannot mount a root".into())?;
    for place in ["/tmp", machine::BASE, machine::SCRATCH] {
        make_directory(&format!("{NEW_ROOT}{place}"))?;
    }
    for (_, place) in KERNEL_FILE_SYSTEMS {
        let target = format!("{NEW_ROOT}{place}");
        make_directory(&target)?;
        mount_move(place, &target).at(Stage::Boot, || format!("cannot move {place}"))?;
    }
    chdir(NEW_ROOT).at(Stage::Boot, || "cannot enter the root".into())?;
    mount_move(".", "/").at(Stage::Boot, || "cannot move the root".into())?;
    chroot(".").at(Stage::Boot, || "cannot change the root".into())?;
    chdir("/").at(Stage::Boot, || "cannot enter the root".into())
}

fn make_directory(path: &str) -> Result<(), Fault> {
    fs::create_dir_all(path).at(Stage::Boot, || format!("cannot make {path}"))
}
