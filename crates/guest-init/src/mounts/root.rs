//! The root file system: read-only layers, a bounded writable one on top, and the change of root.

use std::os::fd::{AsFd, OwnedFd};

use kiln_guest_init::protocol::{Scratch, Seal, Stage};
use rustix::fs::CWD;
use rustix::mount::{
    MountAttrFlags, MountPropagationFlags, MoveMountFlags, UnmountFlags, mount_change, move_mount,
    unmount,
};
use rustix::process::{chdir, fchdir, pivot_root};

use super::device::HostDevices;
use super::tree::{attach, directory, new_mount};
use super::{device, proc};
use crate::fault::{At, Fault};
use crate::launch::open_layer;

/// Where the chamber is put together. Every host has this directory; only our own mount namespace sees what we put there.
const STAGING: &str = "/tmp";

/// Builds the chamber's root and makes it this process's root. The old root is still mounted over it, out of reach of a path:
/// see [`leave_old_root`].
pub(crate) fn enter_new_root(
    seal: &Seal,
    shifted: Vec<OwnedFd>,
    handed: Option<OwnedFd>,
) -> Result<(), Fault> {
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .at(Stage::Scratch, || "cannot make mounts private".into())?;
    // Layers and devices are opened before the staging mount, which may hide their paths.
    let layers = if shifted.is_empty() {
        seal.layers
            .iter()
            .map(|layer| open_layer(layer))
            .collect::<Result<_, _>>()?
    } else {
        shifted
    };
    let devices = HostDevices::open()?;

    let root = overlay(seal, &layers, handed)?;
    device::mount_dev(&root, &devices, seal.shared_memory_bytes)?;
    proc::mount_proc(&root)?;
    // An image's own /tmp keeps its mode, and a link there is the image's business: it can only lead inside.
    let _ = rustix::fs::mkdirat(&root, "tmp", rustix::fs::Mode::from_raw_mode(0o1777));

    fchdir(&root).at(Stage::PivotRoot, || "cannot enter the new root".into())?;
    pivot_root(".", ".").at(Stage::PivotRoot, || "cannot change the root".into())
}

/// Unmounts the old root. Nothing of the host's file systems remains reachable in this mount namespace.
///
/// The kernel waits here until no CPU can still be looking at what was unmounted, so this is for who has nothing better to do.
pub(crate) fn leave_old_root() -> Result<(), Fault> {
    unmount(".", UnmountFlags::DETACH)
        .at(Stage::PivotRoot, || "cannot let go of the old root".into())?;
    chdir("/").at(Stage::PivotRoot, || "cannot enter the new root".into())
}

fn overlay(seal: &Seal, layers: &[OwnedFd], handed: Option<OwnedFd>) -> Result<OwnedFd, Fault> {
    let scratch = match handed {
        Some(mount) => mount,
        None => scratch(seal)?,
    };
    move_mount(
        &scratch,
        "",
        CWD,
        STAGING,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .at(Stage::Scratch, || format!("cannot mount on {STAGING}"))?;

    let lower = directory(Stage::Scratch, &scratch, "lower", 0o755)?;
    let mut lower_paths = Vec::new();
    for (index, layer) in layers.iter().enumerate() {
        let name = index.to_string();
        let target = directory(Stage::Scratch, &lower, &name, 0o755)?;
        attach(Stage::Overlay, layer, target.as_fd(), "a layer")?;
        lower_paths.push(format!("{STAGING}/lower/{name}"));
    }
    if lower_paths.is_empty() {
        lower_paths.push(format!("{STAGING}/lower"));
    }
    let target = directory(Stage::Scratch, &scratch, "root", 0o755)?;
    let (upper, work) = match &seal.scratch {
        Scratch::Memory | Scratch::Disk { .. } => {
            directory(Stage::Scratch, &scratch, "upper", 0o755)?;
            directory(Stage::Scratch, &scratch, "work", 0o700)?;
            ("upper", "work")
        }
        Scratch::Handed { upper, work } => (upper.as_str(), work.as_str()),
    };

    let lower = lower_paths.join(":");
    let (upper, work) = (format!("{STAGING}/{upper}"), format!("{STAGING}/{work}"));
    let mut options = vec![
        ("lowerdir", lower.as_str()),
        ("upperdir", &upper),
        ("workdir", &work),
        // The privileged attributes of an overlay are out of reach in a user namespace.
        ("userxattr", ""),
    ];
    if let Scratch::Handed { .. } = seal.scratch {
        // Nothing of it is read after a crash. Otherwise all of the disk would be written out with the overlay's end.
        options.push(("volatile", ""));
    }
    let root = new_mount(
        Stage::Overlay,
        "overlay",
        &options,
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV,
    )?;
    attach(Stage::Overlay, &root, target.as_fd(), "the root")?;
    Ok(root)
}

/// The file system that takes what the command writes, mounted nowhere yet.
fn scratch(seal: &Seal) -> Result<OwnedFd, Fault> {
    match &seal.scratch {
        Scratch::Memory => new_mount(
            Stage::Scratch,
            "tmpfs",
            &[
                ("size", &seal.disk_bytes.to_string()),
                ("nr_inodes", &seal.disk_inodes.to_string()),
                ("mode", "0700"),
            ],
            MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV,
        ),
        Scratch::Disk { mounted_at } => open_layer(mounted_at),
        Scratch::Handed { .. } => Err(Fault::new(
            Stage::Scratch,
            "the mount of the disk has not come with the order",
        )),
    }
}
