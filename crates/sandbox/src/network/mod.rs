//! A network for one chamber: a veth pair, or a tap device for a machine, a filter on the host's side, and nothing else.
//!
//! The chamber reaches the internet and the host's name servers. It reaches neither the host itself, nor private and
//! link-local addresses (where clouds keep their metadata), nor what the spec blocks. The filter stands on the host, where
//! nothing in the chamber can touch it.

mod address;
mod check;
mod filter;
mod programs;
mod resolver;

use std::fs;
use std::net::IpAddr;

use kiln_guest_init::protocol::Uplink;

use address::Pair;
use programs::{ip, ip_in_namespace, nft};
use resolver::Resolver;

pub(crate) use check::check;
pub(crate) use filter::sweep;

use crate::Error;
use crate::cgroup::fresh_name;

/// What a chamber's network will be like.
#[derive(Clone, Debug)]
pub(crate) struct NetworkPlan {
    resolver: Resolver,
    blocked: Vec<IpAddr>,
}

impl NetworkPlan {
    /// Checks that this host can give a network.
    pub(crate) fn new(blocked: Vec<IpAddr>) -> Result<Self, Error> {
        let found = check();
        if !found.works {
            let fix = found.fix.unwrap_or_default();
            return Err(Error::Spec {
                reason: format!("{}: {fix}, or use a spec without a network", found.detail),
            });
        }
        Ok(Self {
            resolver: Resolver::of_host(),
            blocked,
        })
    }

    /// The chamber's `/etc/resolv.conf`.
    pub(crate) fn resolver_file(&self) -> String {
        self.resolver.file()
    }

    /// Connects the network namespace of a process. `name` is not in use by any other chamber.
    pub(crate) fn connect(&self, pid: u32, name: &str) -> Result<Network, Error> {
        let pair = Pair::fresh()?;
        let network = self.filter(name, &pair)?;
        let pid = pid.to_string();
        ip(&format!(
            "link add {} type veth peer name eth0 netns {pid}",
            pair.device
        ))?;
        bring_up(&pair)?;
        ip_in_namespace(&pid, &format!("addr add {}/30 dev eth0", pair.chamber))?;
        ip_in_namespace(&pid, "link set eth0 up")?;
        ip_in_namespace(&pid, &format!("route add default via {}", pair.host))?;
        Ok(network)
    }

    /// The network of a machine, whose device is yet to be made.
    pub(crate) fn for_machine(&self) -> Result<MachineNetwork<'_>, Error> {
        Ok(MachineNetwork {
            plan: self,
            name: fresh_name()
                .ok_or(Error::OutOfTurn("this host does not tell when we started"))?,
            pair: Pair::fresh()?,
        })
    }

    /// Puts the filter in place before there is a device. Dropping what comes back removes both.
    fn filter(&self, name: &str, pair: &Pair) -> Result<Network, Error> {
        let network = Network {
            table: name.to_owned(),
            device: pair.device.clone(),
        };
        nft(&filter::rules(name, pair, &self.resolver, &self.blocked))?;
        Ok(network)
    }
}

/// The network of one machine.
#[derive(Debug)]
pub(crate) struct MachineNetwork<'a> {
    plan: &'a NetworkPlan,
    name: String,
    pair: Pair,
}

impl MachineNetwork<'_> {
    /// Makes the host's end, a tap device for a monitor of this user; root's if none is named.
    pub(crate) fn open(&self, owner: Option<u32>) -> Result<Network, Error> {
        let network = self.plan.filter(&self.name, &self.pair)?;
        let owner = owner.map_or_else(String::new, |user| format!(" user {user}"));
        ip(&format!("tuntap add dev {} mode tap{owner}", self.device()))?;
        bring_up(&self.pair)?;
        Ok(network)
    }

    pub(crate) fn device(&self) -> &str {
        &self.pair.device
    }

    /// What the guest makes of the other end.
    pub(crate) fn uplink(&self) -> Uplink {
        Uplink::Device {
            address: self.pair.chamber,
            prefix: address::PREFIX,
            gateway: self.pair.host,
        }
    }
}

/// Gives the host's end its address.
fn bring_up(pair: &Pair) -> Result<(), Error> {
    // The chamber has no address of the sixth version; neither has its host end.
    let quiet = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", pair.device);
    let _ = fs::write(quiet, "1");
    let prefix = address::PREFIX;
    ip(&format!(
        "addr add {}/{prefix} dev {}",
        pair.host, pair.device
    ))?;
    ip(&format!("link set {} up", pair.device))
}

/// A connected network. Dropping it removes the filter and the host's end.
#[derive(Debug)]
pub(crate) struct Network {
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
