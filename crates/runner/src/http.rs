//! The HTTP client that images are fetched with.

use std::sync::OnceLock;

/// A client that is made when something is fetched for the first time. It wants this host's certificates, which not every
/// host has, and not every job fetches something.
#[derive(Debug)]
pub struct Http {
    make: fn() -> reqwest::Result<reqwest::Client>,
    made: OnceLock<reqwest::Client>,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "nothing can be fetched without a client for HTTP; if this host has no CA certificates, install them or name them in SSL_CERT_FILE"
)]
pub(crate) struct NoClient(#[from] reqwest::Error);

impl Http {
    /// Whoever makes it chooses its TLS provider and proxies.
    pub const fn new(make: fn() -> reqwest::Result<reqwest::Client>) -> Self {
        Self {
            make,
            made: OnceLock::new(),
        }
    }

    pub(crate) fn client(&self) -> Result<reqwest::Client, NoClient> {
        if let Some(client) = self.made.get() {
            return Ok(client.clone());
        }
        let client = (self.make)()?;
        // Of two at once, one is kept.
        Ok(self.made.get_or_init(|| client).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_made_once_and_not_before_it_is_needed() {
        use std::sync::atomic::{AtomicU32, Ordering};
        static MADE: AtomicU32 = AtomicU32::new(0);
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Http::new(|| {
            MADE.fetch_add(1, Ordering::Relaxed);
            reqwest::Client::builder().build()
        });
        assert_eq!(MADE.load(Ordering::Relaxed), 0);
        http.client().unwrap();
        http.client().unwrap();
        assert_eq!(MADE.load(Ordering::Relaxed), 1);
    }
}
