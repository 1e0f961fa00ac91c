//! `mount_setattr`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use super::check;

/// `struct mount_attr` of `linux/mount.h`.
#[repr(C)]
#[derive(Default)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

const MOUNT_ATTR_READ_ONLY: u64 = 0x1;
const MOUNT_ATTR_ID_MAP: u64 = 0x0010_0000;

/// Shows the files of a detached mount with the ids of another user namespace.
pub(crate) fn map_mount_ids(
    mount: BorrowedFd<'_>,
    user_namespace: BorrowedFd<'_>,
) -> io::Result<()> {
    let user_namespace = u64::try_from(user_namespace.as_raw_fd()).map_err(io::Error::other)?;
    let attr = MountAttr {
        set: MOUNT_ATTR_ID_MAP | MOUNT_ATTR_READ_ONLY,
        user_namespace,
        ..MountAttr::default()
    };
    set_attributes(mount.as_raw_fd(), c"", libc::AT_EMPTY_PATH, &attr)
}

/// Makes the mount at an absolute path read-only.
pub(crate) fn set_read_only(path: &std::ffi::CStr) -> io::Result<()> {
    let attr = MountAttr {
        set: MOUNT_ATTR_READ_ONLY,
        ..MountAttr::default()
    };
    set_attributes(libc::AT_FDCWD, path, 0, &attr)
}

fn set_attributes(
    at: RawFd,
    path: &std::ffi::CStr,
    flags: libc::c_int,
    attr: &MountAttr,
) -> io::Result<()> {
    // SAFETY: the path is a C string and `attr` a live structure of the size we state.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            path.as_ptr(),
            flags,
            &raw const *attr,
            size_of::<MountAttr>(),
        )
    };
    check(result).map(drop)
}
