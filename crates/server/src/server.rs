//! A running server: opened, listening, and closed again in order.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::{Router, ServiceExt as _, middleware};
use kiln_control::bench::{BenchSettings, ChangeMemory};
use kiln_control::limits::{Limits, RateLimits};
use kiln_control::{Contacts, Denied, Heartbeats, LiveOutput};
use kiln_model::{Clock, Entropy};
use kiln_registry::Registry;
use kiln_store::{Store, StoreConfig};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::Layer as _;
use tower::util::MapRequestLayer;

use crate::app::{App, Backups, Shared};
use crate::billing::{self, Billing, BillingWorker};
use crate::channel::{Channels, Offers, Releases};
use crate::layers::{self, RequestIds};
use crate::limits;
use crate::metrics::{Count, Counting, Metrics};
use crate::otlp::{self, Otlp};
use crate::recording;
use crate::token::Tokens;
use crate::worker::{self, KernelWorker};
use crate::{first_start, resting, v0, v2};

/// Twice what a runner keeps of one stream. All of it is in memory while it is read.
const DEFAULT_OUTPUT_LIMIT: u64 = 64 << 20;

/// What a server needs to be told.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub listen: SocketAddr,
    /// What clients and runners are told to call; the bound address when there is nothing better.
    pub public_url: Option<String>,
    /// Whose `X-Forwarded-For` counts.
    pub trusted_proxies: Vec<IpAddr>,
    pub times: JobTimes,
    /// How much anybody may do in a while.
    pub limits: RateLimits,
    /// Where the kernel's worker is recorded, for [`crate::recording::replay`].
    pub record: Option<PathBuf>,
    /// Whether plans decide about priorities, limits and timeouts.
    pub plans: bool,
    /// Whether strangers may submit to projects that nobody has.
    pub anonymous_runs: bool,
    /// How many bytes of output a job may have beside its message.
    pub output_limit: u64,
    /// Where newer programs for runners are.
    pub releases: Option<Releases>,
    /// Who is told of runner minutes.
    pub billing: Billing,
    /// Where backups of the database are kept.
    pub backups: Option<PathBuf>,
    /// Where metrics are pushed to.
    pub otlp: Option<Otlp>,
    pub store: StoreConfig,
}

impl ServerConfig {
    /// On this address, with everything as it is by default.
    pub fn new(listen: SocketAddr, store: StoreConfig) -> Self {
        Self {
            listen,
            public_url: None,
            trusted_proxies: Vec::new(),
            times: JobTimes::default(),
            limits: RateLimits::default(),
            record: None,
            plans: false,
            anonymous_runs: true,
            output_limit: DEFAULT_OUTPUT_LIMIT,
            releases: None,
            billing: Billing::default(),
            backups: None,
            otlp: None,
            store,
        }
    }
}

/// How long things about a bench job may take.
#[derive(Clone, Copy, Debug)]
pub struct JobTimes {
    /// How long a runner may be silent.
    pub heartbeat_timeout: Duration,
    /// How much longer than its timeout a job may take.
    pub grace: Duration,
    /// How long pulling and unpacking may take.
    pub set_up: Duration,
    /// How long a job may wait for a runner; `None` is for ever.
    pub pending_expiry: Option<Duration>,
}

impl Default for JobTimes {
    fn default() -> Self {
        let settings = BenchSettings::new(String::new());
        Self {
            heartbeat_timeout: settings.heartbeat_timeout,
            grace: settings.grace,
            set_up: settings.set_up,
            pending_expiry: settings.pending_expiry,
        }
    }
}

impl JobTimes {
    fn settings(self, registry_url: String) -> BenchSettings {
        BenchSettings {
            heartbeat_timeout: self.heartbeat_timeout,
            grace: self.grace,
            set_up: self.set_up,
            pending_expiry: self.pending_expiry,
            ..BenchSettings::new(registry_url)
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error(transparent)]
    Store(#[from] kiln_store::Error),
    #[error("cannot record into {}: {source}", directory.display())]
    Record {
        directory: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot bill to {place}: {source}")]
    Billing {
        place: String,
        source: std::io::Error,
    },
    #[error("the store is not as it should be: {0}")]
    Contents(#[from] Denied),
    #[error("the kernel does not start: {0}")]
    Kernel(#[from] kiln_kernel::Status),
}

/// A server that listens. Dropping it does not stop it; [`Server::stop`] does.
pub struct Server {
    app: Shared,
    address: SocketAddr,
    admin_key: Option<String>,
    kernel: KernelWorker,
    billing: BillingWorker,
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Opens the store, recovers what there is, and listens.
    pub async fn start(
        config: ServerConfig,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, StartError> {
        let listener =
            TcpListener::bind(config.listen)
                .await
                .map_err(|source| StartError::Listen {
                    address: config.listen,
                    source,
                })?;
        let address = listener.local_addr().map_err(|source| StartError::Listen {
            address: config.listen,
            source,
        })?;
        let public_url = config
            .public_url
            .unwrap_or_else(|| format!("http://{address}"));
        let database = config.store.database.clone();
        let backups = config.backups.map(|directory| {
            Arc::new(Backups {
                database,
                directory,
            })
        });
        let opening = (config.store, Arc::clone(&clock), Arc::clone(&entropy));
        let (store, secret, admin_key) =
            blocking(move || open(&opening.0, config.plans, &*opening.1, &*opening.2)).await?;
        store.announce(&public_url)?;
        let app = Arc::new(App {
            registry: Registry::new(store.clone()),
            tokens: Tokens::new(secret),
            bench: BenchSettings {
                plans: config.plans,
                anonymous_runs: config.anonymous_runs,
                ..config.times.settings(public_url.clone())
            },
            offers: config.releases.map(Offers::new),
            backups,
            heartbeats: Heartbeats::default(),
            contacts: Contacts::default(),
            live: LiveOutput::default(),
            channels: Channels::default(),
            metrics: Metrics::default(),
            limits: Limits::new(config.limits),
            changes: ChangeMemory::default(),
            clock,
            entropy,
            public_url,
            trusted_proxies: config.trusted_proxies,
            output_limit: config.output_limit,
            store,
        });
        let opened = app.store.clone();
        let handle = tokio::runtime::Handle::current();
        let mut owner = [0; 8];
        app.entropy.fill(&mut owner);
        let owner = u64::from_le_bytes(owner);
        let stop = CancellationToken::new();
        let (biller, stops) = (Arc::clone(&app), stop.clone());
        let watch = Arc::new(Counting(Arc::clone(&app)));
        let (kernel, billing) = blocking(move || {
            let billing = billing::start(&biller, &config.billing, owner, handle.clone(), stops)?;
            let kernel = recording::kernel_store(&opened, owner, config.record.as_deref())?;
            let kernel = worker::start_kernel(&opened, kernel, owner, handle, watch)?;
            Ok::<_, StartError>((kernel, billing))
        })
        .await?;
        app.metrics.count(Count::ServerStartup);
        let mut tasks = vec![
            tokio::spawn(worker::pulse(Arc::clone(&app), stop.clone())),
            tokio::spawn(resting::rest_outputs(Arc::clone(&app), stop.clone())),
            tokio::spawn(serve(listener, routes(&app), stop.clone())),
        ];
        let otlp = config.otlp;
        tasks.extend(
            otlp.map(|otlp| tokio::spawn(otlp::push(Arc::clone(&app), otlp, stop.clone()))),
        );
        Ok(Self {
            app,
            address,
            admin_key,
            kernel,
            billing,
            stop,
            tasks,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn public_url(&self) -> &str {
        &self.app.public_url
    }

    /// The administrator's key, if this start made one. It is shown once.
    pub fn admin_key(&self) -> Option<&str> {
        self.admin_key.as_deref()
    }

    /// Waits until the store can no longer be trusted to keep what it acknowledges; the process is to exit then.
    pub async fn fatal(&self) -> String {
        self.app.store.ledger.fatal().stopped().await.to_string()
    }

    /// Takes no new work, tells every runner, finishes what was begun, and closes the store.
    pub async fn stop(self) {
        self.app.channels.shutdown().cancel();
        self.stop.cancel();
        for task in self.tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "a task of the server did not end well");
            }
        }
        let (kernel, billing) = (self.kernel, self.billing);
        let store = self.app.store.clone();
        blocking(move || {
            billing.shutdown();
            kernel.shutdown();
            store.close();
        })
        .await;
    }
}

fn open(
    config: &StoreConfig,
    plans: bool,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<(Store, Vec<u8>, Option<String>), StartError> {
    let store = Store::open(config)?;
    let secret = first_start::secret(&store, entropy)?;
    first_start::plans(&store, plans)?;
    let admin_key = first_start::admin(&store, clock, entropy)?;
    Ok((store, secret, admin_key))
}

fn routes(app: &Shared) -> Router {
    let ids = RequestIds {
        clock: Arc::clone(&app.clock),
        entropy: Arc::clone(&app.entropy),
    };
    let doors = Router::new()
        .merge(v0::routes())
        .merge(v2::routes())
        .with_state(Arc::clone(app));
    // Around the doors and not on each of them: only from there can be seen which methods a path has.
    Router::new()
        .fallback_service(doors)
        .layer(middleware::from_fn_with_state(
            Arc::clone(app),
            limits::limit_address,
        ))
        .layer(middleware::from_fn_with_state(ids, layers::stamp))
}

async fn serve(listener: TcpListener, routes: Router, stop: CancellationToken) {
    // The path must be mended before the router looks at it, so this layer goes around the router.
    let service = MapRequestLayer::new(layers::one_slash).layer(routes);
    let service = service.into_make_service_with_connect_info::<SocketAddr>();
    let served = axum::serve(listener, service)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await;
    if let Err(error) = served {
        tracing::error!(%error, "the listener failed");
    }
}

/// Runs what blocks on a thread that may.
async fn blocking<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(body)
        .await
        .expect("it does not panic, and nobody cancels it")
}

/// Makes another key for the administrator of a store that no server has open.
pub fn make_admin_key(
    store: &Store,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<String, StartError> {
    Ok(first_start::another_admin_key(store, clock, entropy)?)
}
