//! Giving a network device its address and its way out, by the oldest calls there are: they take a name.

use std::io;
use std::mem;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::check;

/// Gives a device that is up its address, and makes it the way to everything else.
pub(crate) fn connect_device(
    name: &str,
    address: Ipv4Addr,
    prefix: u8,
    gateway: Ipv4Addr,
) -> io::Result<()> {
    let socket = socket()?;
    let mask = Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0));
    let mut request = named(name);
    request.ifr_ifru.ifru_addr = generic(address);
    ask(&socket, libc::SIOCSIFADDR, &request)?;
    let mut request = named(name);
    request.ifr_ifru.ifru_netmask = generic(mask);
    ask(&socket, libc::SIOCSIFNETMASK, &request)?;
    // SAFETY: `rtentry` is plain integers and a pointer, for which zero is a valid value.
    let mut route: libc::rtentry = unsafe { mem::zeroed() };
    route.rt_dst = generic(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = generic(Ipv4Addr::UNSPECIFIED);
    route.rt_gateway = generic(gateway);
    route.rt_flags = libc::RTF_UP | libc::RTF_GATEWAY;
    // SAFETY: SIOCADDRT reads an `rtentry`, which is what we pass.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT, &raw const route) }.into())
        .map(drop)
}

/// The loopback device of a new network namespace starts down.
pub(crate) fn bring_loopback_up() -> io::Result<()> {
    bring_device_up("lo")
}

pub(crate) fn bring_device_up(name: &str) -> io::Result<()> {
    let mut request = named(name);
    request.ifr_ifru.ifru_flags =
        libc::c_short::try_from(libc::IFF_UP).map_err(io::Error::other)?;
    ask(&socket()?, libc::SIOCSIFFLAGS, &request)
}

fn socket() -> io::Result<OwnedFd> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    Ok(socket)
}

fn ask(socket: &OwnedFd, order: libc::c_ulong, request: &libc::ifreq) -> io::Result<()> {
    // SAFETY: every order of ours reads an `ifreq` with a name and what it is about, which is what we pass.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), order, &raw const *request) }.into()).map(drop)
}

fn named(name: &str) -> libc::ifreq {
    // SAFETY: `ifreq` is plain bytes and integers, for which zero is a valid value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(name.as_bytes()) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request
}

/// An address in the form that all kinds of addresses share.
fn generic(address: Ipv4Addr) -> libc::sockaddr {
    const ADDRESS_AT: usize = 2;
    // SAFETY: `sockaddr` is plain integers, for which zero is a valid value.
    let mut generic: libc::sockaddr = unsafe { mem::zeroed() };
    generic.sa_family = libc::sa_family_t::try_from(libc::AF_INET).unwrap_or_default();
    let place = &mut generic.sa_data[ADDRESS_AT..];
    for (to, from) in place.iter_mut().zip(address.octets()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    generic
}
