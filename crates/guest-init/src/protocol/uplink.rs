//! The network device of a machine, which a chamber in it takes over.

use std::net::Ipv4Addr;

use super::codec::{Input, Malformed, Wire};

/// The name Linux gives to a machine's only network device.
pub const DEVICE: &str = "eth0";

/// How a chamber is connected to more than itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Uplink {
    /// Not at all, or from outside.
    #[default]
    None,
    /// By the machine's device, with this address and the way to all others.
    Device {
        address: Ipv4Addr,
        /// How many bits of the address are the network's.
        prefix: u8,
        gateway: Ipv4Addr,
    },
}

impl Wire for Uplink {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => out.push(0),
            Self::Device {
                address,
                prefix,
                gateway,
            } => {
                out.push(1);
                address.to_bits().encode(out);
                prefix.encode(out);
                gateway.to_bits().encode(out);
            }
        }
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        match u8::decode(input)? {
            0 => Ok(Self::None),
            1 => Ok(Self::Device {
                address: Ipv4Addr::from_bits(u32::decode(input)?),
                prefix: u8::decode(input)?,
                gateway: Ipv4Addr::from_bits(u32::decode(input)?),
            }),
            other => Err(Malformed::Tag(other)),
        }
    }
}
