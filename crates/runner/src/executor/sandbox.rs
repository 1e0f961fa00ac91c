//! Executes jobs in sandboxes: pull, unpack, prepare, then every iteration over a fresh writable layer.

mod check;
mod control_plane;
mod local;
mod measured;
mod prepared;
mod sink;
mod stage;
mod task;
mod turns;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use kiln_image::{
    Cache, CacheError, Client, Command, Credentials, Guard, Image, Layout, NotARegistryUrl,
    Overrides, Platform, Progress, RegistryUrl, Repository, Version,
};
use kiln_model::v0::{ClaimedJob, Conditions, PairedTurns};
use kiln_model::{Clock, Digest, Millis};
use kiln_sandbox::{Backend, BaseKind, CancelToken, ChamberSpec, Missing, Rootfs};
use tokio_util::sync::CancellationToken;

use super::quiet::Place;
use super::{Executor, Prepared, QuietHost, SetUpError};
use crate::host::isolation_name;
use check::check;
pub use local::{LocalImage, LocalJob};
use prepared::{PreparedJob, Sides};
use stage::{Stage, StageError};
use task::Task;
use turns::Schedule;

/// What the sandboxes of this host are like.
#[derive(Clone, Debug)]
pub struct SandboxExecutorConfig {
    /// For unpacked images.
    pub cache_dir: PathBuf,
    /// How much of images that are not in use is kept.
    pub cache_bytes: u64,
    /// What each of stdout and stderr may have; what a message cannot carry is cut off later.
    pub stream_bytes: u64,
    /// Processes and threads of one job.
    pub processes: u32,
    /// Whether jobs run on a host that cannot enforce one of their limits.
    pub missing_limits: Missing,
    /// How the host is kept still; without it, results carry no noise receipt.
    pub quiet: Option<QuietHost>,
    /// Whose jobs these are, as a URL: those with a network must not reach it. None has jobs of its own only.
    pub server: Option<String>,
}

impl SandboxExecutorConfig {
    pub fn new(cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            cache_dir: cache_dir.into(),
            cache_bytes: 20 << 30,
            stream_bytes: 25 << 20,
            processes: 4_096,
            missing_limits: Missing::Refuse,
            quiet: None,
            server: None,
        }
    }
}

/// Executes jobs in the chambers of one back end.
#[derive(Clone)]
pub struct SandboxExecutor {
    shared: Arc<Shared>,
}

struct Shared {
    config: SandboxExecutorConfig,
    cache: Cache,
    backend: Box<dyn Backend>,
    http: reqwest::Client,
    clock: Arc<dyn Clock>,
}

impl SandboxExecutor {
    /// Opens the image cache. The HTTP client is for pulling; its owner has chosen its TLS provider and proxies.
    pub fn open(
        config: SandboxExecutorConfig,
        backend: Box<dyn Backend>,
        http: reqwest::Client,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, CacheError> {
        let cache = Cache::open(&config.cache_dir, config.cache_bytes)?;
        Ok(Self {
            shared: Arc::new(Shared {
                config,
                cache,
                backend,
                http,
                clock,
            }),
        })
    }
}

impl fmt::Debug for SandboxExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxExecutor")
            .field("config", &self.shared.config)
            .field("backend", &self.shared.backend)
            .finish_non_exhaustive()
    }
}

impl Executor for SandboxExecutor {
    fn set_up(
        &self,
        job: ClaimedJob,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Box<dyn Prepared>, SetUpError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let mut conditions = shared.first_conditions();
            conditions.shared = job.spec.shared;
            let result = tokio::select! {
                result = shared.set_up(&job, &mut conditions) => result,
                () = cancel.cancelled() => Err(StageError::canceled()),
            };
            match result {
                Ok(sides) => {
                    let (schedule, task) = (Schedule::of(&job.config), Task::of(&job.config));
                    let prepared = PreparedJob::new(sides, schedule, task, conditions);
                    Ok(Box::new(prepared) as Box<dyn Prepared>)
                }
                Err(error) => Err(SetUpError {
                    error: error.to_string(),
                    conditions: Box::new(conditions),
                }),
            }
        })
    }
}

/// Everything an execution needs.
struct Parts {
    shared: Arc<Shared>,
    /// Keeps the image in the cache.
    image: Guard,
    chamber: Box<dyn kiln_sandbox::Chamber>,
    command: kiln_sandbox::Command,
}

impl Parts {
    /// Has done what a run begins with, while nothing is measured yet. What is made for that outlives the job, so that it
    /// pays for a runner and not for who runs one image once.
    async fn made_ready(mut self) -> Result<Self, StageError> {
        let canceler =
            CancelToken::new().map_err(|error| StageError::new(Stage::Prepare, &error))?;
        let _guard = CancelOnDrop(canceler.clone());
        blocking(Stage::Prepare, move || {
            self.chamber.make_ready(&self.command, &canceler);
            Ok(self)
        })
        .await
    }
}

/// Stops what nobody waits for any more.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Shared {
    async fn set_up(
        self: &Arc<Self>,
        job: &ClaimedJob,
        conditions: &mut Conditions,
    ) -> Result<Sides, StageError> {
        check(&job.spec, job.config.iter, &*self.backend)?;
        conditions.cached = true;
        let place = self.place(job.spec.cpu)?;
        let mut chamber = self.chamber_spec(job).await?;
        place.settle(&mut chamber);
        let base = self
            .set_up_one(job, &job.config.digest, &chamber, conditions)
            .await?;
        let head = match &job.config.paired {
            None => None,
            Some(paired) => {
                let base_image = conditions.image.take();
                let head = self
                    .set_up_one(job, &paired.digest, &chamber, conditions)
                    .await?;
                conditions.paired = Some(PairedTurns {
                    image: std::mem::replace(&mut conditions.image, base_image),
                    ..PairedTurns::default()
                });
                Some(head)
            }
        };
        // What is measured beside other jobs says nothing about the host.
        let place = if job.spec.shared {
            place
        } else {
            self.look_before(place, conditions).await?
        };
        Ok(Sides { base, head, place })
    }

    /// Where a job of so many CPUs runs.
    fn place(&self, cpus: u32) -> Result<Place, StageError> {
        let quiet = self.config.quiet.as_ref();
        quiet.map_or_else(
            || Ok(Place::default()),
            |quiet| {
                let place = quiet.place(cpus);
                place.map_err(|error| StageError::new(Stage::Prepare, &error))
            },
        )
    }

    /// Looks at the host for the first time.
    async fn look_before(
        &self,
        place: Place,
        conditions: &mut Conditions,
    ) -> Result<Place, StageError> {
        let Some(quiet) = self.config.quiet.clone() else {
            return Ok(place);
        };
        let (receipt, place) = blocking(Stage::Prepare, move || {
            Ok((quiet.look_before(&place), place))
        })
        .await?;
        conditions.noise = Some(receipt);
        Ok(place)
    }

    /// Unpacks an image, or finds it unpacked. Nothing is measured meanwhile.
    fn unpacked(&self, image: &Image) -> Result<Guard, CacheError> {
        match &self.config.quiet {
            Some(quiet) => quiet.on_every_core(|| self.cache.rootfs(image)),
            None => self.cache.rootfs(image),
        }
    }

    async fn set_up_one(
        self: &Arc<Self>,
        job: &ClaimedJob,
        digest: &Digest,
        chamber: &ChamberSpec,
        conditions: &mut Conditions,
    ) -> Result<Parts, StageError> {
        let image = self.image(job, digest, conditions).await?;
        let files = job.config.file_paths.clone().unwrap_or_default();
        let parts = self
            .seal(image, &overrides(job), files, chamber.clone(), conditions)
            .await?;
        let started = self.clock.monotonic();
        let parts = parts.made_ready().await?;
        conditions.stages.prepare_ms += self.since(started);
        Ok(parts)
    }

    /// What is known before anything is done.
    fn first_conditions(&self) -> Conditions {
        Conditions {
            isolation: Some(isolation_name(self.backend.isolation())),
            backend: Some(self.backend.name().to_owned()),
            ..Conditions::default()
        }
    }

    /// Makes the chamber for an image.
    async fn seal(
        self: &Arc<Self>,
        image: Guard,
        overrides: &Overrides,
        files: Vec<String>,
        spec: ChamberSpec,
        conditions: &mut Conditions,
    ) -> Result<Parts, StageError> {
        conditions.image = Some(image.digest().clone());
        let started = self.clock.monotonic();
        let command = Command::resolve(image.config(), overrides, image.path())
            .map_err(|error| StageError::new(Stage::Command, &error))?;
        let shared = Arc::clone(self);
        let (image, chamber) = blocking(Stage::Prepare, move || {
            let rootfs = match shared.backend.base_kind() {
                BaseKind::Directory => Rootfs::directory(image.path()),
                BaseKind::Disk => shared
                    .cache
                    .disk(&image)
                    .map(Rootfs::disk)
                    .map_err(|error| StageError::new(Stage::Unpack, &error))?,
            };
            let chamber = shared
                .backend
                .prepare(&rootfs, &spec)
                .map_err(|error| StageError::new(Stage::Prepare, &error))?;
            Ok((image, chamber))
        })
        .await?;
        conditions.stages.prepare_ms += self.since(started);
        Ok(Parts {
            shared: Arc::clone(self),
            image,
            chamber,
            command: sandbox_command(command, files),
        })
    }

    /// The image's unpacked root, from the cache or the registry. The registry is asked in either case: having
    /// an image here is no permission to use it.
    async fn image(
        self: &Arc<Self>,
        job: &ClaimedJob,
        digest: &Digest,
        conditions: &mut Conditions,
    ) -> Result<Guard, StageError> {
        let started = self.clock.monotonic();
        let pull_error = |error: &dyn std::error::Error| StageError::new(Stage::Pull, error);
        let registry = registry_of(job)?;
        let project = job.config.project.to_string();
        let repository: Repository = project.parse().map_err(|error| pull_error(&error))?;
        let credentials = Credentials::Bearer(job.oci_token.clone());
        let client = Client::new(self.http.clone(), registry, credentials);
        let version = Version::Digest(digest.clone());
        let platform = Platform::host();
        let digest = client
            .resolve(&repository, &version, &platform)
            .await
            .map_err(|error| pull_error(&error))?;
        let shared = Arc::clone(self);
        let cached = blocking(Stage::Unpack, move || {
            shared
                .cache
                .get(&digest)
                .map_err(|error| StageError::new(Stage::Unpack, &error))
        })
        .await?;
        if let Some(image) = cached {
            conditions.stages.pull_ms += self.since(started);
            return Ok(image);
        }
        conditions.cached = false;
        let staging = self
            .cache
            .stage()
            .map_err(|error| StageError::new(Stage::Pull, &error))?;
        let layout = Layout::create(staging.path()).map_err(|error| pull_error(&error))?;
        let pulled = client
            .pull(
                &repository,
                &version,
                &platform,
                &layout,
                &Progress::silent(),
            )
            .await
            .map_err(|error| pull_error(&error))?;
        conditions.stages.pull_ms += self.since(started);
        let started = self.clock.monotonic();
        let shared = Arc::clone(self);
        let image = blocking(Stage::Unpack, move || {
            let image = shared
                .unpacked(&pulled)
                .map_err(|error| StageError::new(Stage::Unpack, &error));
            drop(staging);
            image
        })
        .await?;
        conditions.stages.unpack_ms += self.since(started);
        Ok(image)
    }

    async fn chamber_spec(&self, job: &ClaimedJob) -> Result<ChamberSpec, StageError> {
        let spec = &job.spec;
        let blocked = if spec.network {
            let server = self.config.server.iter().cloned();
            let control_plane: Vec<String> =
                server.chain([registry_of(job)?.to_string()]).collect();
            control_plane::addresses(&control_plane).await?
        } else {
            Vec::new()
        };
        Ok(ChamberSpec {
            cpus: spec.cpu,
            memory_bytes: spec.memory,
            disk_bytes: spec.disk,
            network: spec.network,
            blocked,
            processes: self.config.processes,
            missing_limits: self.config.missing_limits,
            ..ChamberSpec::default()
        })
    }

    fn since(&self, started: Millis) -> u64 {
        let span = self.clock.monotonic().since(started);
        u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
    }
}

fn registry_of(job: &ClaimedJob) -> Result<RegistryUrl, StageError> {
    let registry = job.config.registry.parse();
    registry.map_err(|error: NotARegistryUrl| StageError::new(Stage::Pull, &error))
}

fn overrides(job: &ClaimedJob) -> Overrides {
    Overrides {
        entrypoint: job.config.entrypoint.clone(),
        cmd: job.config.cmd.clone(),
        env: job.config.env.clone().unwrap_or_default(),
        workdir: None,
        user: None,
    }
}

fn sandbox_command(command: Command, files: Vec<String>) -> kiln_sandbox::Command {
    kiln_sandbox::Command {
        args: command.argv,
        env: command.env.into_iter().collect(),
        cwd: command.workdir,
        uid: command.identity.uid,
        gid: command.identity.gid,
        groups: command.identity.groups,
        files,
    }
}

async fn blocking<T: Send + 'static>(
    stage: Stage,
    act: impl FnOnce() -> Result<T, StageError> + Send + 'static,
) -> Result<T, StageError> {
    match tokio::task::spawn_blocking(act).await {
        Ok(result) => result,
        Err(panic) => Err(StageError::new(stage, &panic)),
    }
}

#[cfg(test)]
mod tests;
