//! A file as a disk, and the two calls for which neither Rust nor `rustix` has a safe form.

#![expect(
    unsafe_code,
    reason = "the loop driver and a file system's end are reached by ioctl only"
)]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, Setter, ioctl};

const CONTROL: &str = "/dev/loop-control";

/// How often somebody else may take the device that was free a moment ago.
const ATTEMPTS: u32 = 16;

/// A disk whose bytes are those of a file. With its last user it is free for others.
#[derive(Debug)]
pub(super) struct LoopDevice {
    path: String,
    /// The first user, until there are others.
    _device: OwnedFd,
}

impl LoopDevice {
    pub(super) fn of(file: &File, block_bytes: u32) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let at = |path: &str, errno: Errno| {
            let error = io::Error::from(errno);
            io::Error::new(error.kind(), format!("{path}: {error}"))
        };
        let control = open(CONTROL, flags, Mode::empty()).map_err(|errno| at(CONTROL, errno))?;
        let mut busy = Errno::BUSY;
        for _ in 0..ATTEMPTS {
            // SAFETY: it takes no argument and returns a number.
            let number =
                unsafe { ioctl(&control, FindFree) }.map_err(|errno| at(CONTROL, errno))?;
            let path = format!("/dev/loop{number}");
            let device =
                open(path.as_str(), flags, Mode::empty()).map_err(|errno| at(&path, errno))?;
            let config = LoopConfig::new(file, block_bytes);
            // SAFETY: the structure is the one of `linux/loop.h`, and only read.
            let configured =
                unsafe { ioctl(&device, Setter::<CONFIGURE, LoopConfig>::new(config)) };
            match configured {
                Ok(()) => {
                    return Ok(Self {
                        path,
                        _device: device,
                    });
                }
                Err(Errno::BUSY) => busy = Errno::BUSY,
                Err(errno) => return Err(at(&path, errno)),
            }
        }
        Err(at(CONTROL, busy))
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

/// Has an ext4 file system forget what it has not written yet. It is of no use to anybody then.
pub(super) fn forget_writes(root: impl AsFd) -> io::Result<()> {
    const SHUT_DOWN: Opcode = 0x8004_587d;
    const WITHOUT_FLUSH: u32 = 2;
    // SAFETY: it reads one number.
    unsafe { ioctl(root, Setter::<SHUT_DOWN, u32>::new(WITHOUT_FLUSH)) }.map_err(io::Error::from)
}

const CONFIGURE: Opcode = 0x4c0a;

/// `struct loop_config` of `linux/loop.h`, with its `struct loop_info64`.
#[repr(C)]
struct LoopConfig {
    file: u32,
    block_bytes: u32,
    device_numbers: [u64; 3],
    offset: u64,
    size_limit: u64,
    number: u32,
    encryption: [u32; 2],
    flags: u32,
    names_and_key: [u8; 160],
    init: [u64; 2],
    reserved: [u64; 8],
}

impl LoopConfig {
    fn new(file: &File, block_bytes: u32) -> Self {
        /// The device lets go of the file with its own last user.
        const AUTOCLEAR: u32 = 4;
        Self {
            file: file.as_raw_fd().unsigned_abs(),
            block_bytes,
            device_numbers: [0; 3],
            offset: 0,
            size_limit: 0,
            number: 0,
            encryption: [0; 2],
            flags: AUTOCLEAR,
            names_and_key: [0; 160],
            init: [0; 2],
            reserved: [0; 8],
        }
    }
}

/// `LOOP_CTL_GET_FREE`: the number of a device that nobody uses, which is made if there is none.
struct FindFree;

// SAFETY: the call takes no argument, touches no memory of ours, and its result is the number.
unsafe impl Ioctl for FindFree {
    type Output = IoctlOutput;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        0x4c82
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> rustix::io::Result<IoctlOutput> {
        Ok(out)
    }
}
