//! What every request can reach.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use kiln_control::Heartbeats;
use kiln_control::bench::BenchSettings;
use kiln_control::limits::Limits;
use kiln_model::{Clock, Entropy, Millis};
use kiln_registry::Registry;
use kiln_store::Store;

use crate::channel::{Channels, Offers};
use crate::metrics::Metrics;
use crate::token::Tokens;

pub(crate) type Shared = Arc<App>;

pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) tokens: Tokens,
    pub(crate) bench: BenchSettings,
    pub(crate) heartbeats: Heartbeats,
    pub(crate) channels: Channels,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    /// What clients are told to call the server.
    pub(crate) public_url: String,
    pub(crate) trusted_proxies: Vec<IpAddr>,
    /// Newer programs for runners, if there are any.
    pub(crate) offers: Option<Offers>,
}

impl App {
    pub(crate) fn wall(&self) -> Millis {
        self.clock.wall()
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("public_url", &self.public_url)
            .finish_non_exhaustive()
    }
}
