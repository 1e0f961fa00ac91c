//! Mounting by descriptor: no path of an image is ever resolved by name on the host's side.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use kiln_guest_init::protocol::Stage;
use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount,
};

use crate::fault::{At, Fault};

/// Mount options; one without a value is a flag.
pub(super) type Options<'a> = &'a [(&'a str, &'a str)];

/// A file system that is mounted nowhere yet.
pub(super) fn new_mount(
    stage: Stage,
    kind: &str,
    options: Options<'_>,
    attributes: MountAttrFlags,
) -> Result<OwnedFd, Fault> {
    let context =
        fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).at(stage, || format!("cannot make a {kind}"))?;
    for (key, value) in options {
        let set = if value.is_empty() {
            fsconfig_set_flag(&context, *key)
        } else {
            fsconfig_set_string(&context, *key, *value)
        };
        set.at(stage, || format!("{kind} refuses the option {key}={value}"))?;
    }
    fsconfig_create(&context).at(stage, || format!("cannot make a {kind}"))?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        .at(stage, || format!("cannot mount a {kind}"))
}

/// Attaches a detached mount to a directory or file that is open as `target`.
pub(super) fn attach(
    stage: Stage,
    mount: &OwnedFd,
    target: BorrowedFd<'_>,
    name: &str,
) -> Result<(), Fault> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, "", target, "", flags).at(stage, || format!("cannot mount {name}"))
}

/// The directory `name` right below `parent`, made if it is missing. A link there is refused: it could point anywhere.
pub(super) fn directory(
    stage: Stage,
    parent: impl AsFd,
    name: &str,
    mode: u16,
) -> Result<OwnedFd, Fault> {
    match mkdirat(&parent, name, Mode::from_raw_mode(mode.into())) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno).at(stage, || format!("cannot make the directory {name}")),
    }
    openat2(
        &parent,
        name,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    )
    .at(stage, || {
        format!("{name} of the image is not a plain directory")
    })
}
