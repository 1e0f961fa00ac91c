//! What every request can reach.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kiln_control::bench::{BenchSettings, ChangeMemory};
use kiln_control::limits::Limits;
use kiln_control::{Contacts, Heartbeats, LiveOutput};
use kiln_model::{Clock, Entropy, Millis};
use kiln_registry::Registry;
use kiln_store::Store;

use crate::channel::{Channels, Offers};
use crate::metrics::{Metrics, Span};
use crate::token::Tokens;

pub(crate) type Shared = Arc<App>;

pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) tokens: Tokens,
    pub(crate) bench: BenchSettings,
    pub(crate) heartbeats: Heartbeats,
    pub(crate) contacts: Contacts,
    pub(crate) live: LiveOutput,
    pub(crate) channels: Channels,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    pub(crate) changes: ChangeMemory,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    /// What clients are told to call the server.
    pub(crate) public_url: String,
    pub(crate) trusted_proxies: Vec<IpAddr>,
    /// How many bytes of output a job may have beside its message.
    pub(crate) output_limit: u64,
    /// Newer programs for runners, if there are any.
    pub(crate) offers: Option<Offers>,
    pub(crate) backups: Option<Arc<Backups>>,
}

/// What is backed up, and where to.
#[derive(Debug)]
pub(crate) struct Backups {
    pub(crate) database: String,
    pub(crate) directory: PathBuf,
}

impl App {
    pub(crate) fn wall(&self) -> Millis {
        self.clock.wall()
    }

    /// Something that concerns no job was begun then, and is done.
    pub(crate) fn time(&self, what: Span, began: Millis) {
        let millis = u64::try_from(self.clock.monotonic().0 - began.0).unwrap_or_default();
        self.metrics
            .observe(what, None, Duration::from_millis(millis));
    }
}

#[cfg(test)]
impl App {
    /// Everything as it is by default.
    pub(crate) fn at(
        address: std::net::SocketAddr,
        store: Store,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let public_url = format!("http://{address}");
        Self {
            trusted_proxies: Vec::new(),
            output_limit: 64 << 20,
            offers: None,
            backups: None,
            registry: Registry::new(store.clone()),
            tokens: Tokens::new(b"secret".to_vec()),
            bench: BenchSettings::new(public_url.clone()),
            heartbeats: Heartbeats::default(),
            contacts: Contacts::default(),
            live: LiveOutput::default(),
            channels: Channels::default(),
            metrics: Metrics::default(),
            limits: Limits::default(),
            changes: ChangeMemory::default(),
            clock,
            entropy,
            public_url,
            store,
        }
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("public_url", &self.public_url)
            .finish_non_exhaustive()
    }
}
