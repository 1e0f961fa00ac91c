//! What the commands of a chamber write goes to a disk: an ext4 file system of the spec's size in a file without a name.
//!
//! ```text
//! file in a directory of ours ──▶ loop device ──▶ ext4, mounted at no path ──▶ two directories for each chamber
//! ```
//!
//! All of it is held by descriptors, and ends with the last of them, whatever ends this process. One disk serves the
//! runs of a job one after the other, and then another job: each has directories of its own, of which nothing is left
//! afterwards. One that has grown, or that has more on it than can be removed quickly, is replaced.

mod loop_device;
mod plot;
mod remove;
mod superblock;

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Mode, OFlags, chmodat, fstatvfs, mkdirat, openat, statfs};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};

use self::loop_device::LoopDevice;
pub(super) use self::plot::Plot;
use crate::microvm::{HiddenFile, scratch};
use crate::{ChamberSpec, Error};

const BLOCK_BYTES: u32 = 4096;

/// Blocks and inodes for what chambers are made of before their commands: directories.
const CHAMBERS_BLOCKS: u64 = 64;
const CHAMBERS_INODES: u64 = 64;

/// What is needed to make a chamber ahead, while another has not left yet.
const ROOM: u64 = 32;

/// A file that has grown more than this is given up, and with it what is still to be written to the host's disk.
const MOST_GROWTH_BYTES: u64 = 32 << 20;

/// Nothing of this disk is read after a crash, so nothing need be written in order, or soon.
const OPTIONS: [&str; 3] = ["nobarrier", "noinit_itable", "noauto_da_alloc"];

/// As many as a job has chambers: one, or two that take turns.
const KEPT: usize = 2;

/// Where disks come from, and where they wait for the next job that needs the same.
#[derive(Debug)]
pub(super) struct Disks {
    directory: PathBuf,
    /// The one that was used last comes last.
    kept: Mutex<VecDeque<Disk>>,
}

impl Disks {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            kept: Mutex::default(),
        }
    }

    /// A disk with nothing on it. Fails where this host, or this user, has none to give.
    pub(super) fn take(&self, spec: &ChamberSpec) -> Result<Disk, Error> {
        let size = Size::of(spec);
        check_room(&self.directory, size.bytes)?;
        match self.take_kept(size) {
            Some(disk) => Ok(disk),
            None => Disk::make(&self.directory, size),
        }
    }

    fn take_kept(&self, size: Size) -> Option<Disk> {
        let mut kept = self.lock();
        let at = kept.iter().rposition(|disk| disk.size == size)?;
        kept.remove(at)
    }

    /// Takes back one that nobody uses any more.
    pub(super) fn give_back(&self, disk: Disk) {
        if disk.is_worn() {
            return;
        }
        let mut kept = self.lock();
        kept.push_back(disk);
        let one_too_many = if kept.len() > KEPT {
            kept.pop_front()
        } else {
            None
        };
        drop(kept);
        drop(one_too_many);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Disk>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    bytes: u64,
    inodes: u64,
}

impl Size {
    fn of(spec: &ChamberSpec) -> Self {
        Self {
            bytes: spec.disk_bytes,
            inodes: spec.disk_inodes(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Disk {
    size: Size,
    file: HiddenFile,
    bytes_when_new: u64,
    device: LoopDevice,
    /// Its topmost directory, which keeps it mounted.
    root: OwnedFd,
    plots: AtomicU64,
    /// Whether something is left on it that should not be.
    spoiled: AtomicBool,
}

impl Disk {
    fn make(directory: &Path, size: Size) -> Result<Self, Error> {
        let failed = |what: &'static str| move |error: io::Error| Error::host(what, error);
        // Whoever may not have one finds out before anything is made.
        let context = fsopen("ext4", FsOpenFlags::FSOPEN_CLOEXEC)
            .map_err(|errno| Error::host("cannot have an ext4 file system", errno))?;
        let file = scratch::create(directory, roomy(size.bytes), size.inodes + CHAMBERS_INODES)?;
        let wanted_blocks = size.bytes.div_ceil(BLOCK_BYTES.into()) + CHAMBERS_BLOCKS;
        superblock::adapt(file.file(), wanted_blocks).map_err(failed("cannot make a disk"))?;
        let device = LoopDevice::of(file.file(), BLOCK_BYTES)
            .map_err(failed("cannot have a loop device"))?;
        let mount = OPTIONS
            .iter()
            .try_for_each(|option| fsconfig_set_flag(&context, *option))
            .and_then(|()| mount(&context, &device))
            .map_err(|errno| Error::host("cannot mount a disk", errno))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(&mount, ".", flags, Mode::empty())
            .and_then(|root| make_directory(&root, "root", 0o755).map(|()| root))
            .and_then(|root| make_directory(&root, "lower", 0o755).map(|()| root))
            .map_err(|errno| Error::host("cannot use a disk", errno))?;
        Ok(Self {
            size,
            bytes_when_new: file.allocated_bytes(),
            file,
            device,
            root,
            plots: AtomicU64::new(0),
            spoiled: AtomicBool::new(false),
        })
    }

    /// Makes the places for a base of so many directories.
    pub(super) fn take_layers(&self, count: usize) -> Result<(), Error> {
        (0..count.max(1))
            .try_for_each(|index| make_directory(&self.root, &format!("lower/{index}"), 0o755))
            .map_err(|errno| Error::host("cannot use a disk", errno))
    }

    /// Whether a chamber can be made on it while another has not left yet.
    pub(super) fn has_room(&self) -> bool {
        fstatvfs(&self.root).is_ok_and(|disk| disk.f_bavail >= ROOM && disk.f_ffree >= ROOM)
    }

    /// Whether it should be replaced.
    pub(super) fn is_worn(&self) -> bool {
        let growth = self
            .file
            .allocated_bytes()
            .saturating_sub(self.bytes_when_new);
        self.spoiled.load(Ordering::Relaxed) || growth > MOST_GROWTH_BYTES
    }

    /// One more mount of it, at no path yet.
    fn mount_again(&self) -> Result<OwnedFd, Error> {
        fsopen("ext4", FsOpenFlags::FSOPEN_CLOEXEC)
            .and_then(|context| mount(&context, &self.device))
            .map_err(|errno| Error::host("cannot mount a disk again", errno))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Nobody will read it. Where that is not understood it takes longer.
        let _ = loop_device::forget_writes(&self.root);
    }
}

fn mount(context: &OwnedFd, device: &LoopDevice) -> rustix::io::Result<OwnedFd> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOATIME;
    fsconfig_set_string(context, "source", device.path())?;
    fsconfig_create(context)?;
    fsmount(context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// With exactly this mode, whatever this process's mask is.
fn make_directory(parent: &OwnedFd, name: &str, mode: u16) -> rustix::io::Result<()> {
    let mode = Mode::from_raw_mode(mode.into());
    match mkdirat(parent, name, mode) {
        Ok(()) => chmodat(parent, name, mode, AtFlags::empty()),
        Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// A file system for so many bytes, with all that it takes for itself: what is too much is a hole.
fn roomy(bytes: u64) -> u64 {
    const LEAST: u64 = 16 << 20;
    bytes.saturating_add(bytes / 16).saturating_add(LEAST)
}

/// A disk that is in memory, or for which the host has no room, is none.
fn check_room(directory: &Path, bytes: u64) -> Result<(), Error> {
    const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    let shown = directory.display();
    let host =
        statfs(directory).map_err(|errno| Error::host(format!("cannot look at {shown}"), errno))?;
    if IN_MEMORY
        .iter()
        .any(|kind| u64::try_from(host.f_type) == Ok(*kind))
    {
        let reason = io::Error::from(io::ErrorKind::Unsupported);
        return Err(Error::host(format!("{shown} is in memory itself"), reason));
    }
    let block_bytes = u64::try_from(host.f_bsize).unwrap_or(0);
    let free = host.f_bavail.saturating_mul(block_bytes);
    if free < bytes {
        let reason = io::Error::from(io::ErrorKind::StorageFull);
        return Err(Error::host(
            format!("{shown} has room for {free} bytes"),
            reason,
        ));
    }
    Ok(())
}
