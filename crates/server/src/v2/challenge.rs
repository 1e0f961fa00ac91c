//! Where a client is sent to get a token, and for what.

use kiln_registry::Name;

use super::error::OciError;
use crate::app::App;
use crate::token::Action;

/// Why a request was refused, in the words of RFC 6750.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// It came without credentials.
    Nobody,
    /// What it came with is not ours, too old, or somebody's who may not come in any more.
    Invalid,
    /// The token is good, but not for this.
    Insufficient,
}

/// A refusal that says which token would do.
pub(super) fn refuse(app: &App, reason: Reason, scopes: &[(&Name, Action)]) -> OciError {
    OciError::unauthorized(&challenge(&app.public_url, reason, scopes))
}

fn challenge(public_url: &str, reason: Reason, scopes: &[(&Name, Action)]) -> String {
    let realm = format!("{}/v0/auth/oci/token", public_url.trim_end_matches('/'));
    let service = service(public_url);
    let mut challenge = format!(r#"Bearer realm="{realm}",service="{service}""#);
    if !scopes.is_empty() {
        let scopes: Vec<String> = scopes
            .iter()
            .map(|(name, action)| format!("repository:{name}:{}", needed(*action)))
            .collect();
        challenge.extend([",scope=\"", &scopes.join(" "), "\""]);
    }
    challenge.push_str(match reason {
        Reason::Nobody => "",
        Reason::Invalid => r#",error="invalid_token""#,
        Reason::Insufficient => r#",error="insufficient_scope""#,
    });
    challenge
}

const fn needed(action: Action) -> &'static str {
    match action {
        Action::Pull => "pull",
        // A push looks first what is there already.
        Action::Push => "pull,push",
    }
}

/// The host a client is talking to, by the name it was told.
fn service(public_url: &str) -> &str {
    let rest = public_url
        .split_once("://")
        .map_or(public_url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    // Without the port, but an IPv6 address has colons of its own.
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_the_host_alone() {
        for (url, host) in [
            ("http://127.0.0.1:6610", "127.0.0.1"),
            ("https://kiln.example/base/", "kiln.example"),
            ("http://[::1]:80", "[::1]"),
            ("http://[::1]", "[::1]"),
        ] {
            assert_eq!(service(url), host);
        }
    }

    #[test]
    fn a_challenge_says_what_for_and_why() {
        let (to, from) = ("to".parse().unwrap(), "from".parse().unwrap());
        let scopes = [(&to, Action::Push), (&from, Action::Pull)];
        let text = challenge("https://k/base/", Reason::Insufficient, &scopes);
        let expected = concat!(
            r#"Bearer realm="https://k/base/v0/auth/oci/token",service="k","#,
            r#"scope="repository:to:pull,push repository:from:pull",error="insufficient_scope""#
        );
        assert_eq!(text, expected);
    }
}
