//! The two ends of a chamber's network.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::programs::output_of;
use crate::Error;

/// The end of the shared address space (RFC 6598): not routed anywhere, and not what offices use at home.
const FIRST: u32 = u32::from_be_bytes([100, 127, 0, 0]);

/// Each has a network of four addresses.
pub(super) const PREFIX: u8 = 30;

/// Networks of four addresses in it.
const COUNT: u32 = 1 << 14;

/// Device and addresses of one network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// The host's end. Linux allows names of 15 bytes.
    pub(super) device: String,
    pub(super) host: Ipv4Addr,
    pub(super) chamber: Ipv4Addr,
}

impl Pair {
    /// One that no device of this host uses now.
    pub(super) fn fresh() -> Result<Self, Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let in_use = output_of("ip", "-o -4 addr show")?;
        let start = std::process::id().wrapping_mul(61);
        let free = (0..COUNT)
            .map(|_| start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT)
            .map(Self::numbered)
            .find(|pair| !in_use.contains(&format!(" {}/", pair.host)));
        free.ok_or_else(|| Error::Spec {
            reason: "all addresses for chambers' networks are in use".to_owned(),
        })
    }

    fn numbered(number: u32) -> Self {
        let network = FIRST + 4 * number;
        Self {
            device: format!("kiln{number}"),
            host: Ipv4Addr::from(network + 1),
            chamber: Ipv4Addr::from(network + 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_pair_are_neighbours_in_a_network_of_their_own() {
        let pair = Pair::numbered(1);
        assert_eq!(pair.host, Ipv4Addr::new(100, 127, 0, 5));
        assert_eq!(pair.chamber, Ipv4Addr::new(100, 127, 0, 6));
        let last = Pair::numbered(COUNT - 1);
        assert_eq!(last.chamber, Ipv4Addr::new(100, 127, 255, 254));
        assert!(last.device.len() <= 15);
    }
}
