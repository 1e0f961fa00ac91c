//! `kiln server`.

use std::fs;
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kiln_control::limits::{NotRateLimits, RateLimits};
use kiln_server::{Billing, JobTimes, Otlp, Releases, Server, ServerConfig, StartError, Stripe};
use kiln_store::{StoreConfig, SystemClock, SystemEntropy};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Context;
use crate::failure::{Exit, Failure};
use crate::log;
use crate::settings::Settings;

pub(super) fn run(context: &Context<'_>) -> Result<Exit, Failure> {
    log::install(context.settings.need("log")?)?;
    let plan = Plan::new(context)?;
    runtime()?.block_on(async {
        let mut stop = StopSignals::install()?;
        let server = start(context, &plan).await?;
        let ended = until_told(&server, &mut stop).await?;
        server.stop().await;
        Ok(ended)
    })
}

/// Where everything is to be.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) data: PathBuf,
    listen: SocketAddr,
    database: String,
    objects: String,
    public_url: Option<String>,
    trusted_proxies: Vec<IpAddr>,
    times: JobTimes,
    limits: RateLimits,
    record: Option<PathBuf>,
    plans: bool,
    output_limit: u64,
    releases: Option<Releases>,
    billing: Billing,
    anonymous_runs: bool,
    otlp: Option<Otlp>,
}

impl Plan {
    pub(super) fn new(context: &Context<'_>) -> Result<Self, Failure> {
        let settings = &context.settings;
        let listen = settings.need("listen")?;
        let data = PathBuf::from(settings.need("data")?);
        let within = |name: &str| data.join(name).to_string_lossy().into_owned();
        Ok(Self {
            listen: listen.parse().map_err(|_| {
                Failure::usage(format!("--listen {listen:?} is not an address"))
                    .hint("write it as IP:PORT, for example 127.0.0.1:6610")
            })?,
            database: settings
                .get("database")
                .map_or_else(|| within("kiln.db"), str::to_owned),
            objects: settings
                .get("objects")
                .map_or_else(|| within("objects"), str::to_owned),
            public_url: settings
                .get("public-url")
                .map(|url| url.trim_end_matches('/').to_owned()),
            trusted_proxies: trusted_proxies(settings.get("trusted-proxy").unwrap_or_default())?,
            times: times(settings)?,
            limits: limits(settings)?,
            record: settings.get("record").map(PathBuf::from),
            plans: settings.is_on("plans")?,
            output_limit: output_limit(settings)?,
            releases: settings.get("releases").map(releases),
            billing: billing(settings, &data)?,
            anonymous_runs: settings.is_on("anonymous-runs")?,
            otlp: otlp(settings)?,
            data,
        })
    }

    pub(super) fn store(&self) -> StoreConfig {
        let mut config = StoreConfig::new(
            self.database.clone(),
            Arc::new(SystemClock::new()),
            Arc::new(SystemEntropy),
        );
        config.objects.clone_from(&self.objects);
        config
    }
}

/// A directory, unless it is a URL.
fn releases(place: &str) -> Releases {
    if place.starts_with("http://") || place.starts_with("https://") {
        Releases::Url(place.to_owned())
    } else {
        Releases::Directory(PathBuf::from(place))
    }
}

fn billing(settings: &Settings, data: &Path) -> Result<Billing, Failure> {
    match settings.need("billing")? {
        "off" => Ok(Billing::Off),
        "file" => Ok(Billing::Lines(data.join("billing.jsonl"))),
        "stripe" => Ok(Billing::Stripe(Stripe {
            url: settings.need("billing-url")?.to_owned(),
            secret: settings.need("billing-key")?.to_owned(),
            meter: settings.need("billing-meter")?.to_owned(),
        })),
        other => Err(Failure::usage(format!("there is no billing to {other:?}"))
            .hint("give file, stripe or off with --billing")),
    }
}

fn otlp(settings: &Settings) -> Result<Option<Otlp>, Failure> {
    let Some(url) = settings.get("otlp") else {
        return Ok(None);
    };
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(Failure::usage(format!("--otlp {url:?} is not a URL")).hint(
            "write where the collector takes OTLP over HTTP, for example http://localhost:4318",
        ));
    }
    Ok(Some(Otlp {
        url: url.to_owned(),
        every: Otlp::EVERY,
    }))
}

/// As long as stock servers allow.
const MAX_TIMEOUT_SECONDS: u64 = 900;

fn times(settings: &Settings) -> Result<JobTimes, Failure> {
    let seconds = |key: &str, most: u64| {
        let Some(text) = settings.get(key) else {
            return Ok(None);
        };
        let given = text.parse().ok().filter(|given| (1..=most).contains(given));
        given.map(Duration::from_secs).map(Some).ok_or_else(|| {
            Failure::usage(format!("--{key} {text:?} is not a number of seconds"))
                .hint(format!("give a whole number from 1 to {most}"))
        })
    };
    let default = JobTimes::default();
    Ok(JobTimes {
        heartbeat_timeout: seconds("heartbeat-timeout", MAX_TIMEOUT_SECONDS)?
            .unwrap_or(default.heartbeat_timeout),
        grace: seconds("job-grace", MAX_TIMEOUT_SECONDS)?.unwrap_or(default.grace),
        pending_expiry: seconds("pending-expiry", u64::from(u32::MAX))?,
        ..default
    })
}

/// What one process can hold in memory while it is read.
const MAX_OUTPUT_MIB: u64 = 1_024;

/// In bytes.
fn output_limit(settings: &Settings) -> Result<u64, Failure> {
    let text = settings.need("max-output")?;
    let mebibytes: Option<u64> = text.parse().ok();
    let mebibytes = mebibytes.filter(|given| *given <= MAX_OUTPUT_MIB);
    mebibytes.map(|given| given << 20).ok_or_else(|| {
        Failure::usage(format!("--max-output {text:?} is not a number of MiB"))
            .hint(format!("give a whole number from 0 to {MAX_OUTPUT_MIB}"))
    })
}

fn limits(settings: &Settings) -> Result<RateLimits, Failure> {
    let text = settings.need("rate-limits")?;
    text.parse().map_err(|error: NotRateLimits| {
        Failure::usage(format!("--rate-limits: {error}")).hint(
            "write off, stock, or rates a minute, an hour and a day, for example address-requests=60/600/6000,project-runs=10/60/200",
        )
    })
}

fn trusted_proxies(list: &str) -> Result<Vec<IpAddr>, Failure> {
    let parts = list
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts
        .map(|part| {
            part.parse().map_err(|_| {
                Failure::usage(format!("--trusted-proxy {part:?} is not an IP address"))
                    .hint("write addresses with commas between, for example 10.0.0.1,10.0.0.2")
            })
        })
        .collect()
}

/// Starts a server, and leaves beside its data what people and scripts need to find it.
pub(super) async fn start(context: &Context<'_>, plan: &Plan) -> Result<Server, Failure> {
    make_directory(&plan.data)?;
    let store = plan.store();
    let (clock, entropy) = (Arc::clone(&store.clock), Arc::clone(&store.entropy));
    let config = ServerConfig {
        public_url: plan.public_url.clone(),
        trusted_proxies: plan.trusted_proxies.clone(),
        times: plan.times,
        limits: plan.limits.clone(),
        record: plan.record.clone(),
        plans: plan.plans,
        output_limit: plan.output_limit,
        releases: plan.releases.clone(),
        billing: plan.billing.clone(),
        anonymous_runs: plan.anonymous_runs,
        otlp: plan.otlp.clone(),
        backups: Some(plan.data.join("backups")),
        ..ServerConfig::new(plan.listen, store)
    };
    let server = Server::start(config, clock, entropy)
        .await
        .map_err(|error| explain(plan, &error))?;
    if let Some(key) = server.admin_key() {
        let path = plan.data.join("admin.key");
        write_private(&path, key)?;
        context.terminal.note(&format!(
            "The administrator's key is in {}; it is not shown again.",
            path.display()
        ));
    }
    write_whole(&plan.data.join("address"), &server.address().to_string())?;
    context
        .terminal
        .data(&format!("listening on {}", server.public_url()))?;
    Ok(server)
}

/// SIGTERM and SIGINT, caught from the moment this is made: before anybody is told that the process is there.
#[derive(Debug)]
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Needs to be called inside a runtime.
    pub(super) fn install() -> Result<Self, Failure> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// The same, before anything runs in this runtime.
    pub(super) fn install_in(runtime: &tokio::runtime::Runtime) -> Result<Self, Failure> {
        let _inside = runtime.enter();
        Self::install()
    }

    pub(super) async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Waits for a signal, or for the news that the store cannot be trusted any more.
pub(super) async fn until_told(server: &Server, stop: &mut StopSignals) -> Result<Exit, Failure> {
    tokio::select! {
        () = stop.received() => Ok(Exit::Ok),
        reason = server.fatal() => Err(Failure::unexpected(format!("the database failed: {reason}"))
            .hint("nothing that was acknowledged is lost; mend the disk and start the server again")),
    }
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    use_ring();
    Ok(tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?)
}

/// Whoever speaks TLS in this process does so with ring; a second call finds it installed.
pub(super) fn use_ring() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn explain(plan: &Plan, error: &StartError) -> Failure {
    match error {
        StartError::Listen { address, source } => {
            let failure =
                Failure::new(Exit::Usage, format!("cannot listen on {address}")).because(source);
            failure.hint(if source.kind() == io::ErrorKind::AddrInUse {
                "another program has this port: stop it, or take another with --listen 127.0.0.1:0"
            } else if source.kind() == io::ErrorKind::PermissionDenied {
                "ports below 1024 need more rights: take another with --listen"
            } else {
                "is this address on this machine? take another with --listen"
            })
        }
        StartError::Store(kiln_store::Error::Refused(text)) => Failure::usage(text.clone()),
        StartError::Store(error) => Failure::unexpected(format!(
            "the store at {} cannot be opened",
            plan.data.display()
        ))
        .because(error),
        StartError::Record { directory, source } => {
            Failure::usage(format!("cannot record into {}", directory.display()))
                .because(source)
                .hint("choose another directory with --record, or make it writable for this user")
        }
        StartError::Billing { place, source } => Failure::usage(format!("cannot bill to {place}"))
            .because(source)
            .hint("choose another way with --billing, or --billing off"),
        StartError::Contents(_) | StartError::Kernel(_) => {
            Failure::unexpected("the server cannot start").because(error)
        }
    }
}

pub(super) fn make_directory(path: &Path) -> Result<(), Failure> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| {
            Failure::usage(format!("the directory {} cannot be made", path.display()))
                .because(&error)
                .hint("choose another with --data, or make it writable for this user")
        })
}

fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let written = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| writeln!(file, "{text}").and_then(|()| file.sync_all()));
    written.map_err(|error| {
        Failure::unexpected(format!("{} cannot be written", path.display())).because(&error)
    })
}

/// Whole or not at all: a reader never sees half an address.
fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let temporary = path.with_extension("new");
    let written =
        fs::write(&temporary, format!("{text}\n")).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        Failure::unexpected(format!("{} cannot be written", path.display())).because(&error)
    })
}
