//! What only PID 1 of a machine calls: vsock, and the kernel's random numbers.

use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use super::check;

/// `_IO('R', 0x03)` and `_IO('R', 0x07)` of `linux/random.h` with the sizes they carry.
const ADD_ENTROPY: libc::c_ulong = 0x4008_5203;
const RESEED: libc::c_ulong = 0x5207;

/// The most the kernel takes at once is far more than it needs.
const ENTROPY_BYTES: usize = 64;

/// A connection that was made before a snapshot may still wait when the next one comes after it.
const BACKLOG: libc::c_int = 4;

/// `struct rand_pool_info` with room for our bytes.
#[repr(C)]
struct PoolInfo {
    entropy_bits: libc::c_int,
    bytes: libc::c_int,
    pool: [u8; ENTROPY_BYTES],
}

/// Mixes bytes into the kernel's generator and makes it use them at once.
pub(crate) fn reseed(random: &File, entropy: &[u8]) -> io::Result<()> {
    let mut info = PoolInfo {
        entropy_bits: 0,
        bytes: 0,
        pool: [0; ENTROPY_BYTES],
    };
    let count = entropy.len().min(ENTROPY_BYTES);
    info.pool[..count].copy_from_slice(&entropy[..count]);
    info.bytes = libc::c_int::try_from(count).map_err(io::Error::other)?;
    info.entropy_bits = info.bytes * 8;
    // SAFETY: the structure says how many bytes of it are valid, and is live.
    check(unsafe { libc::ioctl(random.as_raw_fd(), ADD_ENTROPY, &raw const info) }.into())?;
    // SAFETY: this order takes no memory.
    check(unsafe { libc::ioctl(random.as_raw_fd(), RESEED) }.into()).map(drop)
}

/// A vsock port on which the host can connect.
pub(crate) fn listen_on_vsock(port: u32) -> io::Result<OwnedFd> {
    // SAFETY: three integers.
    let listener =
        owned(unsafe { libc::socket(libc::AF_VSOCK, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: `sockaddr_vm` is plain integers, for which zero is a valid value.
    let mut address: libc::sockaddr_vm = unsafe { mem::zeroed() };
    address.svm_family = libc::sa_family_t::try_from(libc::AF_VSOCK).map_err(io::Error::other)?;
    address.svm_cid = libc::VMADDR_CID_ANY;
    address.svm_port = port;
    let length = libc::socklen_t::try_from(size_of_val(&address)).map_err(io::Error::other)?;
    // SAFETY: the address is live and as long as stated.
    check(unsafe { libc::bind(listener.as_raw_fd(), (&raw const address).cast(), length) }.into())?;
    // SAFETY: two integers.
    check(unsafe { libc::listen(listener.as_raw_fd(), BACKLOG) }.into())?;
    Ok(listener)
}

/// Waits for a connection and takes it.
pub(crate) fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: we do not ask for the peer's address.
    owned(unsafe {
        libc::accept4(
            listener.as_raw_fd(),
            ptr::null_mut(),
            ptr::null_mut(),
            libc::SOCK_CLOEXEC,
        )
    })
}

fn owned(descriptor: RawFd) -> io::Result<OwnedFd> {
    check(descriptor.into())?;
    // SAFETY: the kernel just gave us this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
