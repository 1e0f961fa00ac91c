//! A network for one chamber: a veth pair, a filter on the host's side, and nothing else.
//!
//! The chamber reaches the internet and the host's name servers. It reaches neither the host itself, nor private and
//! link-local addresses (where clouds keep their metadata), nor what the spec blocks. The filter stands on the host, where
//! nothing in the chamber can touch it.

mod address;
mod filter;
mod programs;
mod resolver;

use std::fs;
use std::net::IpAddr;

use address::Pair;
use programs::{ip, ip_in_namespace, nft};

pub(crate) use filter::sweep;
pub(super) use resolver::Resolver;

use crate::Error;

/// What a chamber's network will be like.
#[derive(Clone, Debug)]
pub(crate) struct NetworkPlan {
    pub(super) resolver: Resolver,
    pub(super) blocked: Vec<IpAddr>,
}

impl NetworkPlan {
    /// Checks that this host can give a network.
    pub(super) fn new(blocked: Vec<IpAddr>) -> Result<Self, Error> {
        let refuse = |reason: &str| {
            Err(Error::Spec {
                reason: reason.to_owned(),
            })
        };
        if !rustix::process::geteuid().is_root() {
            return refuse(
                "a network needs root, for a veth pair and a filter: run the runner as root, or use a spec without one",
            );
        }
        let forwards = fs::read_to_string("/proc/sys/net/ipv4/ip_forward").unwrap_or_default();
        if forwards.trim() != "1" {
            return refuse(
                "this host does not forward packets: sysctl -w net.ipv4.ip_forward=1, or use a spec without a network",
            );
        }
        Ok(Self {
            resolver: Resolver::of_host(),
            blocked,
        })
    }

    /// Connects the network namespace of a process. `name` is not in use by any other chamber.
    pub(super) fn connect(&self, pid: u32, name: &str) -> Result<Network, Error> {
        let pair = Pair::fresh()?;
        // From here on, whatever happens, dropping it removes what there is.
        let network = Network {
            table: name.to_owned(),
            device: pair.device.clone(),
        };
        nft(&filter::rules(name, &pair, &self.resolver, &self.blocked))?;
        let pid = pid.to_string();
        ip(&format!(
            "link add {} type veth peer name eth0 netns {pid}",
            pair.device
        ))?;
        // The chamber has no address of the sixth version; neither has its host end.
        let quiet = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", pair.device);
        let _ = fs::write(quiet, "1");
        ip(&format!("addr add {}/30 dev {}", pair.host, pair.device))?;
        ip(&format!("link set {} up", pair.device))?;
        ip_in_namespace(&pid, &format!("addr add {}/30 dev eth0", pair.chamber))?;
        ip_in_namespace(&pid, "link set eth0 up")?;
        ip_in_namespace(&pid, &format!("route add default via {}", pair.host))?;
        Ok(network)
    }
}

/// A connected network. Dropping it removes the filter and the host's end.
#[derive(Debug)]
pub(super) struct Network {
    table: String,
    device: String,
}

impl Drop for Network {
    fn drop(&mut self) {
        // The device goes with the chamber's namespace, sooner or later; here it goes now.
        let _ = ip(&format!("link del {}", self.device));
        if let Err(error) = filter::remove(&self.table) {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the filter of a chamber's network is left behind"
            );
        }
    }
}
