//! A job that does not share has the host to itself, whatever the other slots of the runner do.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use kiln_model::v0::ClaimedJob;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tokio_util::sync::CancellationToken;

use super::{Execution, Executor, Prepared, SetUpError, Terms};

/// Keeps jobs that do not share from all others. The server gives a runner nothing that would have to wait here; but a job that it has
/// given up, because a slot was not heard, may still be running on this host when the next one comes.
pub(crate) struct InTurn {
    executor: Arc<dyn Executor>,
    /// First come, first served: jobs that share do not keep another waiting for ever.
    host: Arc<RwLock<()>>,
}

/// Until it is dropped, the host is this job's, or shared by it.
enum Turn {
    Shared(#[expect(dead_code, reason = "it is held")] OwnedRwLockReadGuard<()>),
    Alone(#[expect(dead_code, reason = "it is held")] OwnedRwLockWriteGuard<()>),
}

struct PreparedInTurn {
    prepared: Box<dyn Prepared>,
    turn: Option<Turn>,
}

impl InTurn {
    pub(crate) fn new(executor: Arc<dyn Executor>) -> Self {
        Self {
            executor,
            host: Arc::default(),
        }
    }
}

impl fmt::Debug for InTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.executor.fmt(f)
    }
}

impl Executor for InTurn {
    fn set_up(
        &self,
        job: ClaimedJob,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Box<dyn Prepared>, SetUpError>> {
        let (executor, host) = (Arc::clone(&self.executor), Arc::clone(&self.host));
        Box::pin(async move {
            let turn = async {
                if job.spec.shared {
                    Turn::Shared(host.read_owned().await)
                } else {
                    Turn::Alone(host.write_owned().await)
                }
            };
            // Without a turn it is canceled, and the executor says so in its own words.
            let turn = tokio::select! {
                turn = turn => Some(turn),
                () = cancel.cancelled() => None,
            };
            let prepared = executor.set_up(job, cancel).await?;
            Ok(Box::new(PreparedInTurn { prepared, turn }) as Box<dyn Prepared>)
        })
    }
}

impl Prepared for PreparedInTurn {
    fn execute(self: Box<Self>, terms: Terms) -> BoxFuture<'static, Execution> {
        let Self { prepared, turn } = *self;
        Box::pin(async move {
            let execution = prepared.execute(terms).await;
            drop(turn);
            execution
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::FutureExt as _;
    use kiln_model::v0::{Conditions, ServerMessage};
    use tokio::sync::oneshot;

    use super::*;
    use crate::{Output, Verdict};

    /// Sets up at once, and executes until told to end.
    #[derive(Debug, Default)]
    struct Patient {
        ends: Mutex<Vec<oneshot::Sender<()>>>,
    }

    impl Executor for Patient {
        fn set_up(
            &self,
            _job: ClaimedJob,
            cancel: CancellationToken,
        ) -> BoxFuture<'static, Result<Box<dyn Prepared>, SetUpError>> {
            let (end, ended) = oneshot::channel();
            self.ends.lock().unwrap().push(end);
            Box::pin(async move {
                if cancel.is_cancelled() {
                    return Err(SetUpError {
                        error: "canceled".to_owned(),
                        conditions: Box::default(),
                    });
                }
                Ok(Box::new(UntilTold(ended)) as Box<dyn Prepared>)
            })
        }
    }

    struct UntilTold(oneshot::Receiver<()>);

    impl Prepared for UntilTold {
        fn execute(self: Box<Self>, _terms: Terms) -> BoxFuture<'static, Execution> {
            Box::pin(async move {
                let _ = self.0.await;
                Execution {
                    verdict: Verdict::Completed,
                    output: Output::default(),
                    conditions: Conditions::default(),
                }
            })
        }
    }

    fn job(shared: bool) -> ClaimedJob {
        let rows: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../fixtures/channel/happy.json")).unwrap();
        let said = rows
            .into_iter()
            .filter_map(|row| row.get("server").cloned());
        let mut messages = said.filter_map(|message| serde_json::from_value(message).ok());
        let mut job = messages
            .find_map(|message| match message {
                ServerMessage::Job(job) => Some(*job),
                ServerMessage::Ack { .. }
                | ServerMessage::NoJob
                | ServerMessage::Cancel
                | ServerMessage::Update { .. } => None,
            })
            .unwrap();
        job.spec.shared = shared;
        job
    }

    /// Sets up a job and begins it; its end is the next of `patient`.
    async fn begun(host: &InTurn, shared: bool) -> BoxFuture<'static, Execution> {
        let cancel = CancellationToken::new();
        let prepared = host.set_up(job(shared), cancel.clone()).await.unwrap();
        prepared.execute(Terms::new(cancel))
    }

    #[tokio::test]
    async fn jobs_that_share_run_side_by_side() {
        let host = InTurn::new(Arc::<Patient>::default());
        let first = begun(&host, true).await;
        let second = begun(&host, true).await;
        assert!(first.now_or_never().is_none());
        assert!(second.now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_job_that_does_not_share_waits_for_those_that_do() {
        let patient = Arc::<Patient>::default();
        let host = InTurn::new(patient.clone());
        let shared = begun(&host, true).await;
        let mut alone = Box::pin(begun(&host, false));
        assert!((&mut alone).now_or_never().is_none());
        let mut later = Box::pin(begun(&host, true));
        assert!((&mut later).now_or_never().is_none());
        patient.ends.lock().unwrap().remove(0).send(()).unwrap();
        shared.await;
        let alone = alone.await;
        assert!((&mut later).now_or_never().is_none());
        patient.ends.lock().unwrap().remove(0).send(()).unwrap();
        alone.await;
        drop(later.await);
    }

    #[tokio::test]
    async fn a_job_that_waits_for_its_turn_can_be_canceled() {
        let host = InTurn::new(Arc::<Patient>::default());
        let _shared = begun(&host, true).await;
        let cancel = CancellationToken::new();
        let mut waiting = host.set_up(job(false), cancel.clone());
        assert!((&mut waiting).now_or_never().is_none());
        cancel.cancel();
        let error = waiting.await.err().unwrap();
        assert_eq!(error.error, "canceled");
    }
}
