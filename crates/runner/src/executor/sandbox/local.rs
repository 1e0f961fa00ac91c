//! Running an image once, without a server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kiln_image::{
    Client, Credentials, Guard, Image, Layout, Overrides, Platform, Progress, Reference,
    RegistryUrl, fetch,
};
use kiln_model::v0::Conditions;
use kiln_sandbox::{ChamberSpec, ResourceBound};
use tokio_util::sync::CancellationToken;

use super::prepared::{PreparedJob, Sides};
use super::stage::{Stage, StageError};
use super::task::Task;
use super::turns::Schedule;
use super::{SandboxExecutor, Shared, blocking};
use crate::executor::{Execution, Prepared as _, SetUpError, Terms};

/// What to run, and on what.
#[derive(Clone, Debug)]
pub struct LocalJob {
    pub image: LocalImage,
    /// Entry point, command and environment in place of the image's.
    pub overrides: Overrides,
    pub chamber: ChamberSpec,
    /// For all iterations together.
    pub timeout: Duration,
    pub iterations: u32,
    pub allow_failure: bool,
    pub file_paths: Vec<String>,
    /// For each process of the command; clamped to what this host allows, and said so.
    pub resources: Vec<ResourceBound>,
}

/// Where the image is.
#[derive(Clone, Debug)]
pub enum LocalImage {
    /// A directory in the OCI layout.
    Layout(PathBuf),
    /// In a registry that the reference names.
    Registry {
        reference: Reference,
        token: Option<String>,
        /// Over `http`, though the registry is another host's.
        plain_http: bool,
    },
}

impl SandboxExecutor {
    /// Runs a job of this host's own.
    pub async fn run_local(
        &self,
        job: LocalJob,
        cancel: CancellationToken,
    ) -> Result<Execution, SetUpError> {
        let shared = Arc::clone(&self.shared);
        let mut conditions = shared.first_conditions();
        let task = Task {
            timeout: job.timeout,
            allow_failure: job.allow_failure,
            build_time: None,
            file_size: false,
            resources: job.resources.clone(),
        };
        let schedule = Schedule::Repeat {
            iterations: job.iterations,
        };
        let sides = tokio::select! {
            sides = set_up(&shared, job, &mut conditions) => sides,
            () = cancel.cancelled() => Err(StageError::canceled()),
        };
        match sides {
            Ok(sides) => {
                let prepared = Box::new(PreparedJob::new(sides, schedule, task, conditions));
                Ok(prepared.execute(Terms::new(cancel)).await)
            }
            Err(error) => Err(SetUpError {
                error: error.to_string(),
                conditions: Box::new(conditions),
            }),
        }
    }
}

async fn set_up(
    shared: &Arc<Shared>,
    job: LocalJob,
    conditions: &mut Conditions,
) -> Result<Sides, StageError> {
    let place = shared.place(job.chamber.cpus)?;
    let mut chamber = job.chamber;
    place.settle(&mut chamber);
    let started = shared.clock.monotonic();
    let image = match job.image {
        LocalImage::Layout(directory) => from_layout(shared, directory).await?,
        LocalImage::Registry {
            reference,
            token,
            plain_http,
        } => {
            let registry = if plain_http {
                RegistryUrl::plain(&reference)
            } else {
                RegistryUrl::of(&reference)
            };
            from_registry(shared, registry, &reference, token).await?
        }
    };
    conditions.stages.pull_ms = shared.since(started);
    let parts = shared
        .seal(image, &job.overrides, job.file_paths, chamber, conditions)
        .await?;
    let place = shared.look_before(place, conditions).await?;
    Ok(Sides::one(parts, place))
}

async fn from_layout(shared: &Arc<Shared>, directory: PathBuf) -> Result<Guard, StageError> {
    let shared = Arc::clone(shared);
    blocking(Stage::Unpack, move || {
        let failed = |error: &dyn std::error::Error| StageError::new(Stage::Unpack, error);
        let layout = Layout::open(&directory).map_err(|error| failed(&error))?;
        let descriptor = layout
            .find(None)
            .map_err(|error| failed(&error))?
            .ok_or_else(|| {
                StageError::refused(format!("there is no image in {}", directory.display()))
            })?;
        let image =
            Image::open(&layout, &descriptor, &Platform::host()).map_err(|error| failed(&error))?;
        shared.unpacked(&image).map_err(|error| failed(&error))
    })
    .await
}

async fn from_registry(
    shared: &Arc<Shared>,
    registry: Option<RegistryUrl>,
    reference: &Reference,
    token: Option<String>,
) -> Result<Guard, StageError> {
    let registry = registry.ok_or_else(|| {
        StageError::refused(format!(
            "{reference} names no registry; write it as registry.example.com/{reference}"
        ))
    })?;
    let credentials = token.map_or(Credentials::Anonymous, Credentials::Bearer);
    let client = Client::new(shared.http.clone(), registry, credentials);
    fetch(
        &shared.cache,
        &client,
        reference.repository(),
        &reference.version(),
        &Platform::host(),
        &Progress::silent(),
    )
    .await
    .map_err(|error| StageError::new(Stage::Pull, &error))
}
