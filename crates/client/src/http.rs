//! The client for HTTP under everything that calls somebody.

use reqwest::ClientBuilder;

/// A client for HTTP. It wants this host's CA certificates, which not every host has: without them it trusts nobody, and calls plain
/// addresses all the same.
pub fn http_client(
    configure: impl Fn(ClientBuilder) -> ClientBuilder,
) -> reqwest::Result<reqwest::Client> {
    let configured = || configure(reqwest::Client::builder());
    configured()
        .build()
        .or_else(|_| configured().tls_certs_only([]).build())
}
