//! Where a request comes from, seen through proxies that are trusted to say so.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;

/// The address of the client: the peer's own, unless that is a trusted proxy. Then it is the last address in
/// `X-Forwarded-For` that is not a trusted proxy's itself; what stands before that, the client could have written.
pub(crate) fn source_address(peer: SocketAddr, headers: &HeaderMap, trusted: &[IpAddr]) -> IpAddr {
    let peer = peer.ip().to_canonical();
    if !trusted.contains(&peer) {
        return peer;
    }
    let mut source = peer;
    let forwarded = headers.get_all("x-forwarded-for").iter().rev();
    for value in forwarded {
        for part in value.to_str().unwrap_or_default().rsplit(',') {
            let Ok(address) = part.trim().parse::<IpAddr>() else {
                return source;
            };
            source = address.to_canonical();
            if !trusted.contains(&source) {
                return source;
            }
        }
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, forwarded: &[&str], expected: &str) {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", value.parse().unwrap());
        }
        let trusted = ["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()];
        let peer = SocketAddr::new(peer.parse().unwrap(), 1);
        assert_eq!(
            source_address(peer, &headers, &trusted).to_string(),
            expected
        );
    }

    #[test]
    fn a_stranger_cannot_say_who_he_is() {
        check("192.0.2.7", &["203.0.113.9"], "192.0.2.7");
    }

    #[test]
    fn a_trusted_proxy_says_who_called_it() {
        check("10.0.0.1", &["203.0.113.9"], "203.0.113.9");
        check("10.0.0.1", &["203.0.113.9, 10.0.0.2"], "203.0.113.9");
        check("10.0.0.1", &["198.51.100.1, 203.0.113.9"], "203.0.113.9");
        check(
            "10.0.0.1",
            &["198.51.100.1", "203.0.113.9, 10.0.0.2"],
            "203.0.113.9",
        );
    }

    #[test]
    fn nonsense_ends_the_chain_where_it_stands() {
        check("10.0.0.1", &["203.0.113.9, nonsense, 10.0.0.2"], "10.0.0.2");
        check("10.0.0.1", &[], "10.0.0.1");
    }
}
