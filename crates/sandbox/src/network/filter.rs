//! What a chamber's packets may reach.

use std::net::IpAddr;

use super::address::Pair;
use super::programs::{ip, nft, output_of};
use super::resolver::Resolver;
use crate::Error;
use crate::cgroup::owner_is_gone;

/// Never reached: this host's own, private, shared, link-local (cloud metadata), test, multicast and reserved networks.
const BLOCKED: [&str; 12] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "168.63.129.16",
];

/// The rules for one chamber. Name servers come before what is blocked: they often have private addresses.
pub(super) fn rules(table: &str, pair: &Pair, resolver: &Resolver, also: &[IpAddr]) -> String {
    let device = &pair.device;
    let chamber = pair.chamber;
    let servers = joined(resolver.servers.iter().map(ToString::to_string));
    let also = also.iter().filter(|address| address.is_ipv4());
    let blocked = BLOCKED
        .iter()
        .map(ToString::to_string)
        .chain(also.map(ToString::to_string));
    let blocked = joined(blocked);
    format!(
        "table inet {table} {{
  set blocked {{ type ipv4_addr; flags interval; auto-merge; elements = {{ {blocked} }} }}
  chain from_chamber {{
    ip saddr != {chamber} drop
    ip daddr {{ {servers} }} meta l4proto {{ tcp, udp }} th dport 53 accept
    ip daddr @blocked reject with icmp type admin-prohibited
    meta nfproto ipv6 drop
  }}
  chain forward {{
    type filter hook forward priority -10; policy accept;
    iifname \"{device}\" jump from_chamber
    oifname \"{device}\" ct state established,related accept
    oifname \"{device}\" drop
  }}
  chain input {{
    type filter hook input priority -10; policy accept;
    iifname \"{device}\" ip daddr {{ {servers} }} meta l4proto {{ tcp, udp }} th dport 53 accept
    iifname \"{device}\" reject
  }}
  chain postrouting {{
    type nat hook postrouting priority 100; policy accept;
    ip saddr {chamber} oifname != \"{device}\" masquerade
  }}
}}
"
    )
}

pub(super) fn remove(table: &str) -> Result<(), Error> {
    // Adding it first makes removing one that was never made succeed.
    nft(&format!(
        "add table inet {table}\ndelete table inet {table}\n"
    ))
}

/// Removes the filters of chambers whose process is gone. A host without `nft` never had any.
pub(crate) fn sweep() -> Result<usize, Error> {
    if !rustix::process::geteuid().is_root() {
        return Ok(0);
    }
    let Ok(tables) = output_of("nft", "list tables inet") else {
        return Ok(0);
    };
    let mut removed = 0;
    for table in tables
        .lines()
        .filter_map(|line| line.trim().strip_prefix("table inet "))
        .filter(|table| owner_is_gone(table))
    {
        if let Some(device) = device_of(table) {
            // One end of a pair went with its namespace; a machine's device has stayed.
            let _ = ip(&format!("link del {device}"));
        }
        remove(table)?;
        removed += 1;
    }
    Ok(removed)
}

/// The device that a filter is about.
fn device_of(table: &str) -> Option<String> {
    let rules = output_of("nft", &format!("list table inet {table}")).ok()?;
    let (_, rest) = rules.split_once("iifname \"")?;
    let (device, _) = rest.split_once('"')?;
    device.starts_with("kiln").then(|| device.to_owned())
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}
