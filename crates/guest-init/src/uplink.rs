//! Handing a machine's network device to the chamber in it.

use std::fs;
use std::io;

use kiln_guest_init::protocol::uplink::DEVICE;
use kiln_guest_init::protocol::{Stage, Uplink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socket};
use rustix::process::Pid;

use crate::fault::{At, Fault};
use crate::sys;

/// Of `linux/rtnetlink.h`, `linux/netlink.h` and `linux/if_link.h`.
const SET_LINK: u16 = 19;
const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
const NETWORK_NAMESPACE_OF_PROCESS: u16 = 19;

const HEADER_BYTES: usize = 16;

/// Moves the device into the network namespace of a process. Only who stands outside of it can.
pub(crate) fn hand_over(pid: Pid) -> Result<(), Fault> {
    move_device(pid).at(Stage::Network, || format!("cannot hand {DEVICE} over"))
}

/// Readies the device that the chamber was handed, as far as that can be done before it is known what is behind it.
pub(crate) fn bring_up() -> Result<(), Fault> {
    sys::bring_device_up(DEVICE).at(Stage::Network, || format!("cannot bring {DEVICE} up"))
}

/// Connects the chamber by that device.
pub(crate) fn connect(uplink: Uplink) -> Result<(), Fault> {
    match uplink {
        Uplink::None => Ok(()),
        Uplink::Device {
            address,
            prefix,
            gateway,
        } => sys::connect_device(DEVICE, address, prefix, gateway)
            .at(Stage::Network, || format!("cannot connect {DEVICE}")),
    }
}

fn move_device(pid: Pid) -> io::Result<()> {
    let index = fs::read_to_string(format!("/sys/class/net/{DEVICE}/ifindex"))?;
    let index: i32 = index.trim_end().parse().map_err(io::Error::other)?;
    // Of the kernel's protocols the first, which needs no number, is about devices and routes.
    let kernel = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let order = order(index, pid);
    send(&kernel, &order, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (_, length) = recv(&kernel, &mut answer, RecvFlags::empty())?;
    // An answer is a header and an error number, zero for none.
    let code = answer[..length]
        .get(HEADER_BYTES..HEADER_BYTES + 4)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(-1, i32::from_ne_bytes);
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(-code))
    }
}

/// A request in the kernel's own byte order: a header, which device, and one attribute.
fn order(index: i32, pid: Pid) -> Vec<u8> {
    const LENGTH: u32 = 40;
    let mut order = Vec::new();
    order.extend(LENGTH.to_ne_bytes());
    order.extend(SET_LINK.to_ne_bytes());
    order.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // Neither a number nor an address of ours is needed for one answer.
    order.extend([0; 8]);
    // Any family, any type.
    order.extend([0; 4]);
    order.extend(index.to_ne_bytes());
    // No flag is changed.
    order.extend([0; 8]);
    order.extend(8_u16.to_ne_bytes());
    order.extend(NETWORK_NAMESPACE_OF_PROCESS.to_ne_bytes());
    order.extend(pid.as_raw_nonzero().get().to_ne_bytes());
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_as_long_as_it_says() {
        let order = order(2, Pid::from_raw(7).unwrap());
        assert_eq!(order.len(), 40);
        assert_eq!(order[..4], 40_u32.to_ne_bytes());
    }
}
