//! The loopback device of a new network namespace starts down.

use std::io;
use std::mem;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::check;

pub(crate) fn bring_loopback_up() -> io::Result<()> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: `ifreq` is plain bytes and integers, for which zero is a valid value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes_with_nul()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags =
        libc::c_short::try_from(libc::IFF_UP).map_err(io::Error::other)?;
    // SAFETY: SIOCSIFFLAGS reads an `ifreq` with a name and flags, which is what we pass.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) }.into())
        .map(drop)
}
