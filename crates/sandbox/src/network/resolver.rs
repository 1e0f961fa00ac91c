//! The name servers a chamber may ask.

use std::fs;
use std::net::IpAddr;

/// What `/etc/resolv.conf` may hold at most, as in the C library.
const MAX_SERVERS: usize = 3;

/// Used when the host's own can only be reached from the host.
const PUBLIC: [IpAddr; 2] = [
    IpAddr::V4(std::net::Ipv4Addr::new(1, 1, 1, 1)),
    IpAddr::V4(std::net::Ipv4Addr::new(8, 8, 8, 8)),
];

/// Name servers, and the file that names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolver {
    pub(super) servers: Vec<IpAddr>,
}

impl Resolver {
    pub(super) fn of_host() -> Self {
        // systemd-resolved keeps the servers behind its stub in a file of its own.
        let files = ["/run/systemd/resolve/resolv.conf", "/etc/resolv.conf"];
        let text = files
            .into_iter()
            .find_map(|file| fs::read_to_string(file).ok());
        Self::parse(&text.unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut servers: Vec<IpAddr> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("nameserver"))
            .filter_map(|server| server.trim().parse().ok())
            .filter(|server: &IpAddr| server.is_ipv4() && !server.is_loopback())
            .take(MAX_SERVERS)
            .collect();
        if servers.is_empty() {
            servers.extend(PUBLIC);
        }
        Self { servers }
    }

    /// The chamber's `/etc/resolv.conf`.
    pub(super) fn file(&self) -> String {
        let lines = self
            .servers
            .iter()
            .map(|server| format!("nameserver {server}\n"));
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_only_the_host_can_reach_are_left_out() {
        let resolver =
            Resolver::parse("# mine\nnameserver 127.0.0.53\nnameserver 10.0.0.2\nnameserver ::1\n");
        assert_eq!(resolver.file(), "nameserver 10.0.0.2\n");
    }

    #[test]
    fn without_any_public_ones_are_asked() {
        assert_eq!(Resolver::parse("search example.com\n").servers, PUBLIC);
    }
}
