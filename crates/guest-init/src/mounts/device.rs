//! `/dev`: the few nodes every program expects, and nothing that reaches hardware.

use std::os::fd::{AsFd, OwnedFd};

use kiln_guest_init::protocol::Stage;
use rustix::fs::{CWD, Mode, OFlags, openat, symlinkat};
use rustix::mount::{MountAttrFlags, OpenTreeFlags, open_tree};

use super::tree::{Options, attach, directory, new_mount};
use crate::fault::{At, Fault};

/// A user namespace may not make device nodes, so these come from the host.
const NODES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: [(&str, &str); 5] = [
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// The host's nodes, each as a detached mount.
pub(super) struct HostDevices(Vec<(&'static str, OwnedFd)>);

impl HostDevices {
    pub(super) fn open() -> Result<Self, Fault> {
        NODES
            .into_iter()
            .map(|name| {
                let path = format!("/dev/{name}");
                let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
                let node = open_tree(CWD, &path, flags)
                    .at(Stage::Devices, || format!("cannot open {path}"))?;
                Ok((name, node))
            })
            .collect::<Result<_, Fault>>()
            .map(Self)
    }
}

pub(super) fn mount_dev(
    root: &OwnedFd,
    devices: &HostDevices,
    shared_memory_bytes: u64,
) -> Result<(), Fault> {
    let plain = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let target = directory(Stage::Devices, root, "dev", 0o755)?;
    let dev = new_mount(
        Stage::Devices,
        "tmpfs",
        &[("size", "64k"), ("nr_inodes", "1k"), ("mode", "0755")],
        plain,
    )?;
    attach(Stage::Devices, &dev, target.as_fd(), "/dev")?;

    for (name, node) in &devices.0 {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let place = openat(&dev, *name, flags, Mode::from_raw_mode(0o666))
            .at(Stage::Devices, || format!("cannot make /dev/{name}"))?;
        attach(Stage::Devices, node, place.as_fd(), name)?;
    }
    for (name, to) in LINKS {
        symlinkat(to, &dev, name).at(Stage::Devices, || format!("cannot make /dev/{name}"))?;
    }

    let nodev = plain | MountAttrFlags::MOUNT_ATTR_NODEV;
    let shared = shared_memory_bytes.to_string();
    let mounts: [(&str, &str, Options<'_>, MountAttrFlags); 3] = [
        (
            "pts",
            "devpts",
            &[("newinstance", ""), ("ptmxmode", "0666"), ("mode", "0620")],
            plain,
        ),
        (
            "shm",
            "tmpfs",
            &[("size", &shared), ("mode", "1777")],
            nodev,
        ),
        ("mqueue", "mqueue", &[], nodev),
    ];
    for (name, kind, options, attributes) in mounts {
        let target = directory(Stage::Devices, &dev, name, 0o755)?;
        let mount = new_mount(Stage::Devices, kind, options, attributes)?;
        attach(Stage::Devices, &mount, target.as_fd(), name)?;
    }
    Ok(())
}
