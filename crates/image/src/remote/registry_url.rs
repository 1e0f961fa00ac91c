//! Where a registry is.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use reqwest::Url;

use crate::{Host, Reference};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a registry's address: expected http:// or https:// and a host, or a host")]
pub struct NotARegistryUrl(String);

/// The origin of a registry. Plain `http` is used only where it is written, and on this host, where nobody is in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryUrl {
    origin: Url,
}

impl RegistryUrl {
    /// The registry a reference names: over `https`, or over `http` if it is this host's own.
    pub fn of(reference: &Reference) -> Option<Self> {
        let secure: Self = reference.host()?.as_str().parse().ok()?;
        if secure.is_this_host() {
            return Self::plain(reference);
        }
        Some(secure)
    }

    /// The registry a reference names, over plain `http`.
    pub fn plain(reference: &Reference) -> Option<Self> {
        format!("http://{}", reference.host()?).parse().ok()
    }

    fn is_this_host(&self) -> bool {
        let host = self.origin.host_str().unwrap_or_default();
        let address: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// A URL below the origin. The path is made of validated parts.
    pub(super) fn join(&self, path: &str) -> Url {
        let mut url = self.origin.clone();
        url.set_path(path);
        url
    }

    /// Resolves a `Location`, relative or absolute.
    pub(super) fn resolve(&self, from: &Url, location: &str) -> Option<Url> {
        from.join(location).ok().filter(|url| self.allows(url))
    }

    /// Whether a URL is the registry's own: only there does its token go.
    pub(super) fn is_origin_of(&self, url: &Url) -> bool {
        self.origin.origin() == url.origin()
    }

    /// A registry reached over `https` does not send anyone to `http`.
    pub(super) fn allows(&self, url: &Url) -> bool {
        url.scheme() == "https" || (url.scheme() == "http" && self.origin.scheme() == "http")
    }

    /// The host and port as in a reference.
    pub(super) fn authority(&self) -> String {
        let host = self.origin.host_str().unwrap_or_default();
        match self.origin.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }
}

impl FromStr for RegistryUrl {
    type Err = NotARegistryUrl;

    fn from_str(text: &str) -> Result<Self, NotARegistryUrl> {
        let refuse = || NotARegistryUrl(text.chars().take(200).collect());
        let origin = if text.contains("://") {
            Url::parse(text)
        } else {
            let host: Host = text.parse().map_err(|_| refuse())?;
            Url::parse(&format!("https://{host}"))
        }
        .map_err(|_| refuse())?;
        let is_plain = matches!(origin.scheme(), "http" | "https")
            && origin.host_str().is_some()
            && origin.username().is_empty()
            && origin.password().is_none()
            && origin.query().is_none()
            && origin.fragment().is_none()
            && origin.path() == "/";
        if is_plain {
            Ok(Self { origin })
        } else {
            Err(refuse())
        }
    }
}

impl fmt::Display for RegistryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.origin.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_host_means_https() {
        let url: RegistryUrl = "registry.example:5000".parse().unwrap();
        assert_eq!(url.to_string(), "https://registry.example:5000");
        assert_eq!(url.authority(), "registry.example:5000");
    }

    #[test]
    fn a_registry_of_this_host_needs_no_https() {
        let url = |text: &str| RegistryUrl::of(&text.parse().unwrap()).map(|url| url.to_string());
        for (reference, expected) in [
            ("localhost:5000/a", "http://localhost:5000"),
            ("127.0.0.2:5000/a:b", "http://127.0.0.2:5000"),
            ("registry.example/a", "https://registry.example"),
            ("localhost.example:5000/a", "https://localhost.example:5000"),
            ("10.0.0.1:5000/a", "https://10.0.0.1:5000"),
        ] {
            assert_eq!(url(reference).as_deref(), Some(expected), "{reference}");
        }
        assert_eq!(url("a"), None);
    }

    #[test]
    fn plain_http_is_used_where_it_is_asked_for() {
        let plain = RegistryUrl::plain(&"registry.example:80/a".parse().unwrap());
        assert_eq!(plain.unwrap().to_string(), "http://registry.example");
    }

    #[test]
    fn other_schemes_paths_and_credentials_are_refused() {
        for bad in [
            "",
            "file:///etc",
            "ftp://host",
            "http://",
            "http://a:b@host",
            "http://host/path",
            "http://host/?q",
            "http://host/#f",
            "-host",
            "host/path",
        ] {
            assert!(bad.parse::<RegistryUrl>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn https_never_leads_to_http() {
        let secure: RegistryUrl = "https://host".parse().unwrap();
        let from = secure.join("/v2/");
        assert!(secure.resolve(&from, "http://host/x").is_none());
        assert!(secure.resolve(&from, "file:///etc/passwd").is_none());
        assert!(secure.resolve(&from, "/v2/x").is_some());
    }

    #[test]
    fn another_port_is_another_origin() {
        let registry: RegistryUrl = "http://host:5000".parse().unwrap();
        assert!(registry.is_origin_of(&registry.join("/v2/")));
        assert!(!registry.is_origin_of(&Url::parse("http://host:5001/v2/").unwrap()));
    }
}
