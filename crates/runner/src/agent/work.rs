//! The job at hand, as tasks of their own: a panic or a block in one does not reach the agent.

use std::future;
use std::sync::Arc;

use kiln_model::JobUuid;
use kiln_model::v0::{ClaimedJob, Conditions, LiveText};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::Event;
use crate::executor::{Execution, Executor, LiveOutput, Prepared, SetUpError, Terms};
use crate::{Delivery, MAX_MESSAGE_BYTES, report};

#[derive(Default)]
pub(super) enum Work {
    #[default]
    None,
    SettingUp {
        job: JobUuid,
        cancel: CancellationToken,
        task: AbortOnDropHandle<Result<Box<dyn Prepared>, SetUpError>>,
    },
    Ready {
        job: JobUuid,
        cancel: CancellationToken,
        prepared: Box<dyn Prepared>,
    },
    Executing {
        job: JobUuid,
        /// How many bytes of output may go beside the message.
        beside: usize,
        live: LiveOutput,
        cancel: CancellationToken,
        task: AbortOnDropHandle<Execution>,
    },
}

impl Work {
    pub(super) fn set_up(executor: &Arc<dyn Executor>, job: ClaimedJob) -> Self {
        let cancel = CancellationToken::new();
        Self::SettingUp {
            job: job.uuid,
            task: AbortOnDropHandle::new(tokio::spawn(executor.set_up(job, cancel.clone()))),
            cancel,
        }
    }

    /// Starts what is ready. Up to `beside` bytes of its output may go beside the message.
    pub(super) fn execute(self, beside: usize) -> Self {
        match self {
            Self::Ready {
                job,
                cancel,
                prepared,
            } => {
                let live = LiveOutput::default();
                let terms = Terms {
                    cancel: cancel.clone(),
                    output_bytes: beside.max(MAX_MESSAGE_BYTES),
                    live: live.clone(),
                };
                Self::Executing {
                    job,
                    beside,
                    live,
                    task: AbortOnDropHandle::new(tokio::spawn(prepared.execute(terms))),
                    cancel,
                }
            }
            other @ (Self::None | Self::SettingUp { .. } | Self::Executing { .. }) => other,
        }
    }

    /// What the command that runs has written since the last look.
    pub(super) fn written(&self, limit: usize) -> Vec<LiveText> {
        match self {
            Self::Executing { live, .. } => live.take(limit),
            Self::None | Self::SettingUp { .. } | Self::Ready { .. } => Vec::new(),
        }
    }

    /// Stops what runs; its end is still told. What is only ready is given up.
    pub(super) fn stop(self) -> Self {
        match &self {
            Self::SettingUp { cancel, .. } | Self::Executing { cancel, .. } => cancel.cancel(),
            Self::Ready { .. } => return Self::None,
            Self::None => {}
        }
        self
    }

    /// Waits for the end of what runs; for ever if nothing does.
    pub(super) async fn next(&mut self) -> Event {
        match self {
            Self::None | Self::Ready { .. } => future::pending().await,
            Self::SettingUp { job, cancel, task } => {
                let (job, ended) = (*job, task.await);
                let cancel = cancel.clone();
                let (work, result) = match ended {
                    Ok(Ok(prepared)) => {
                        let ready = Self::Ready {
                            job,
                            cancel,
                            prepared,
                        };
                        (ready, Ok(()))
                    }
                    Ok(Err(error)) => (Self::None, Err(report::of_set_up_error(job, &error))),
                    Err(_) => (Self::None, Err(panicked(job, "set up"))),
                };
                *self = work;
                Event::SetUp(result)
            }
            Self::Executing {
                job, beside, task, ..
            } => {
                let delivery = match task.await {
                    Ok(execution) => {
                        log_conditions(*job, &execution.conditions);
                        report::of_execution(*job, execution, *beside)
                    }
                    Err(_) => panicked(*job, "run"),
                };
                *self = Self::None;
                Event::Executed(delivery)
            }
        }
    }

    /// Stops what runs and waits for its end, unreported.
    pub(super) async fn abandon(self) {
        match self.stop() {
            Self::SettingUp { task, .. } => drop(task.await),
            Self::Executing { task, .. } => drop(task.await),
            Self::None | Self::Ready { .. } => {}
        }
    }
}

fn log_conditions(job: JobUuid, conditions: &Conditions) {
    let stages = &conditions.stages;
    let missing: Vec<&str> = conditions
        .missing()
        .map(|layer| layer.name.as_str())
        .collect();
    tracing::info!(
        job.id = %job,
        isolation = conditions.isolation,
        backend = conditions.backend,
        missing = missing.join(","),
        cached = conditions.cached,
        pull_ms = stages.pull_ms,
        unpack_ms = stages.unpack_ms,
        prepare_ms = stages.prepare_ms,
        run_ms = stages.run_ms,
        "job {job} has run"
    );
}

fn panicked(job: JobUuid, stage: &str) -> Delivery {
    let error = format!("{stage}: the runner failed by a fault of its own; its log tells where");
    Delivery::failed(job, Vec::new(), error, None)
}
