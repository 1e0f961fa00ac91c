//! Whether this host can give chambers a network.

use std::fs;
use std::path::Path;

use crate::Check;
use crate::programs::locate;

/// What a network needs, and the first of it that is missing.
pub(crate) fn check() -> Check {
    let no = |detail: String, fix: &str| Check {
        works: false,
        detail,
        fix: Some(fix.to_owned()),
    };
    if !rustix::process::geteuid().is_root() {
        return no(
            "a network needs root, for a device and a filter".to_owned(),
            "run the runner as root",
        );
    }
    for (program, fix) in [
        ("ip", "apt-get install iproute2"),
        ("nft", "apt-get install nftables"),
        ("nsenter", "apt-get install util-linux"),
    ] {
        if locate(Path::new(program)).is_err() {
            return no(format!("a network needs the program {program}"), fix);
        }
    }
    let forwards = fs::read_to_string("/proc/sys/net/ipv4/ip_forward").unwrap_or_default();
    if forwards.trim() != "1" {
        return no(
            "this host does not forward packets".to_owned(),
            "sysctl -w net.ipv4.ip_forward=1",
        );
    }
    let machines = if Path::new("/dev/net/tun").exists() {
        "chambers and machines"
    } else {
        "chambers; machines need /dev/net/tun (modprobe tun)"
    };
    Check {
        works: true,
        detail: format!("for {machines}, without private and link-local addresses"),
        fix: None,
    }
}
