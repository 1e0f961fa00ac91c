//! One connection of one runner.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use kiln_control::Denied;
use kiln_control::jobs::Directive;
use kiln_model::v0::{JobOutput, RunnerMessage, ServerMessage};
use kiln_model::{JobUuid, Trigger};
use kiln_store::sql::job::Job;
use kiln_store::sql::lane;
use kiln_store::sql::runner::{self, Runner};
use kiln_store::{Bell, Listener, Tx};
use tokio::time::{Instant, sleep_until};

use super::{assign, words};
use crate::app::{App, Shared};
use crate::view;

/// Seconds a `ready` waits when it does not say.
const DEFAULT_POLL: u32 = 30;
const MAX_POLL: u32 = 900;
/// A claim may be beaten by another server; it is tried this often before the next bell.
const CLAIM_TRIES: u32 = 4;

/// Why a connection ends.
enum End {
    /// The peer went, or the socket broke.
    Gone,
    Close {
        code: u16,
        reason: &'static str,
    },
}

enum State {
    Idle,
    Polling(Poll),
    Executing(Box<Execution>),
}

struct Poll {
    deadline: Instant,
    bells: Listener,
}

struct Execution {
    job: Job,
    uuid: JobUuid,
    bell: Listener,
}

struct Session<'a> {
    app: &'a App,
    runner: Runner,
    socket: WebSocket,
    state: State,
    /// When the last valid word was heard: pings, binary frames and nonsense do not count (I10).
    heard: Instant,
}

pub(super) async fn run(app: Shared, runner: Runner, socket: WebSocket) {
    let place = app.channels.enter(runner.id);
    let (uuid, id) = (runner.uuid, runner.id);
    tracing::info!(runner.id = %uuid, "runner {uuid} connected");
    note_contact(&app, id).await;
    let mut session = Session {
        app: &app,
        runner,
        socket,
        state: State::Idle,
        heard: Instant::now(),
    };
    let end = tokio::select! {
        end = session.serve() => end,
        () = place.superseded.cancelled() => {
            End::Close { code: 1000, reason: "superseded by a newer connection" }
        }
        () = app.channels.shutdown().cancelled() => {
            End::Close { code: 1001, reason: "server shutting down" }
        }
    };
    if let End::Close { code, reason } = end {
        let frame = CloseFrame {
            code,
            reason: reason.into(),
        };
        // The peer may be gone already; there is nobody to tell.
        let _ = session.socket.send(Message::Close(Some(frame))).await;
    }
    tracing::info!(runner.id = %uuid, "runner {uuid} disconnected");
}

impl Session<'_> {
    async fn serve(&mut self) -> End {
        loop {
            let silence = self.heard + self.app.bench.heartbeat_timeout;
            let outcome = match &mut self.state {
                State::Idle => tokio::select! {
                    message = self.socket.recv() => self.receive(message).await,
                    () = sleep_until(silence) => return End::Close { code: 1000, reason: "\"heartbeat_timeout\"" },
                },
                State::Polling(poll) => tokio::select! {
                    message = self.socket.recv() => self.receive(message).await,
                    () = poll.bells.heard() => self.claim().await,
                    () = sleep_until(poll.deadline) => self.give_up().await,
                },
                State::Executing(execution) => tokio::select! {
                    message = self.socket.recv() => self.receive(message).await,
                    () = execution.bell.heard() => self.look().await,
                },
            };
            if let Err(end) = outcome {
                return end;
            }
        }
    }

    async fn receive(&mut self, message: Option<Result<Message, axum::Error>>) -> Result<(), End> {
        let Some(Ok(message)) = message else {
            return Err(End::Gone);
        };
        let text = match message {
            Message::Text(text) => text,
            Message::Close(_) => return Err(End::Gone),
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => return Ok(()),
        };
        match serde_json::from_str(&text) {
            Ok(message) => self.hear(message).await,
            Err(error) if matches!(self.state, State::Idle) => {
                tracing::warn!(runner.id = %self.runner.uuid, %error, "a runner sent what is no message");
                Err(End::Close {
                    code: 1007,
                    reason: "not a message of this protocol",
                })
            }
            Err(_) => Ok(()),
        }
    }

    async fn hear(&mut self, message: RunnerMessage) -> Result<(), End> {
        self.heard = Instant::now();
        match message {
            RunnerMessage::Ready { poll_timeout, .. } => self.ready(poll_timeout).await,
            RunnerMessage::Running => self.running().await,
            RunnerMessage::Heartbeat => self.heartbeat().await,
            RunnerMessage::Completed {
                job,
                results,
                conditions,
            } => {
                self.deliver(
                    job,
                    JobOutput {
                        results,
                        error: None,
                        conditions,
                    },
                )
                .await
            }
            RunnerMessage::Failed {
                job,
                results,
                error,
                conditions,
            } => {
                self.deliver(
                    job,
                    JobOutput {
                        results,
                        error: Some(error),
                        conditions,
                    },
                )
                .await
            }
            RunnerMessage::Canceled { job, .. } => {
                words::canceled(self.app, &self.runner, job)
                    .await
                    .map_err(own_trouble)?;
                self.terminal(job).await
            }
        }
    }

    async fn deliver(&mut self, job: JobUuid, output: JobOutput) -> Result<(), End> {
        words::delivered(self.app, &self.runner, job, output)
            .await
            .map_err(own_trouble)?;
        self.terminal(job).await
    }

    async fn ready(&mut self, poll_timeout: Option<u32>) -> Result<(), End> {
        let seconds = poll_timeout.unwrap_or(DEFAULT_POLL).clamp(1, MAX_POLL);
        let deadline = Instant::now() + Duration::from_secs(u64::from(seconds));
        note_contact(self.app, self.runner.id).await;
        // Subscribed before the first look, so that no bell is missed.
        let id = self.runner.id;
        let lanes = self
            .app
            .store
            .reader
            .read(move |query| lane::of_runner(query, id))
            .await;
        let lanes = lanes.map_err(|error| own_trouble(Denied::Store(error)))?;
        let bells = self
            .app
            .store
            .bells
            .subscribe_to(lanes.into_iter().map(Bell::Lane));
        self.state = State::Polling(Poll { deadline, bells });
        self.claim().await
    }

    async fn claim(&mut self) -> Result<(), End> {
        for _ in 0..CLAIM_TRIES {
            let runner = self.runner.clone();
            let claim = move |tx: &mut dyn Tx| assign::claim(tx, &runner);
            match self.app.store.ledger.submit(claim).await {
                Ok(None) => return Ok(()),
                Ok(Some(assignment)) => return self.assign(assignment).await,
                Err(Denied::Raced) => {}
                Err(denied) => return Err(own_trouble(denied)),
            }
        }
        Ok(())
    }

    async fn assign(&mut self, assignment: assign::Assignment) -> Result<(), End> {
        let assignment = assignment.with_token(self.app, self.runner.uuid);
        self.execute(assignment.job, assignment.claimed.uuid);
        self.say(&ServerMessage::Job(Box::new(assignment.claimed)))
            .await
    }

    fn execute(&mut self, job: Job, uuid: JobUuid) {
        let bell = self.app.store.bells.subscribe(Bell::Job(job.id));
        self.state = State::Executing(Box::new(Execution { job, uuid, bell }));
    }

    async fn give_up(&mut self) -> Result<(), End> {
        self.state = State::Idle;
        self.heard = Instant::now();
        self.say(&ServerMessage::NoJob).await
    }

    /// The job this connection executes; after a reconnect the runner's words tell that there is one.
    async fn held(&mut self) -> Result<Option<(Job, JobUuid)>, End> {
        if let State::Executing(execution) = &self.state {
            return Ok(Some((execution.job.clone(), execution.uuid)));
        }
        let Some(job) = words::held(self.app, &self.runner)
            .await
            .map_err(own_trouble)?
        else {
            return Ok(None);
        };
        let uuid = view::job_uuid(&job).map_err(own_trouble)?;
        self.execute(job.clone(), uuid);
        Ok(Some((job, uuid)))
    }

    async fn running(&mut self) -> Result<(), End> {
        let Some((job, uuid)) = self.held().await? else {
            return Ok(());
        };
        match words::running(self.app, &self.runner, &job).await {
            Ok(Directive::Stop) => self.stop().await,
            Ok(Directive::Continue) | Err(Denied::Ended(_) | Denied::NotHolder) => {
                self.ack(uuid).await
            }
            Err(denied) => Err(own_trouble(denied)),
        }
    }

    async fn heartbeat(&mut self) -> Result<(), End> {
        let Some((job, uuid)) = self.held().await? else {
            return Ok(());
        };
        words::heartbeat(self.app, &job);
        self.ack(uuid).await
    }

    /// Something about the job changed; if it was stopped, the runner hears it at once.
    async fn look(&mut self) -> Result<(), End> {
        let State::Executing(execution) = &mut self.state else {
            return Ok(());
        };
        let id = execution.job.id;
        let Some(now) = words::look(self.app, id).await.map_err(own_trouble)? else {
            return self.stop().await;
        };
        if now.life.epoch != execution.job.life.epoch || words::is_stopped(now.life.status) {
            return self.stop().await;
        }
        // The runner is alive and was too slow: it is to let go of the job.
        if now.life.cause == Some(Trigger::SetUpDeadline) {
            return self.stop().await;
        }
        if now.life.status.is_ended() && now.life.cause.is_some_and(Trigger::is_lost_contact) {
            return Err(End::Close {
                code: 1000,
                reason: "\"heartbeat_timeout\"",
            });
        }
        Ok(())
    }

    async fn stop(&mut self) -> Result<(), End> {
        self.state = State::Idle;
        self.say(&ServerMessage::Cancel).await
    }

    /// A last word about a job is acknowledged, whatever came of it.
    async fn terminal(&mut self, job: JobUuid) -> Result<(), End> {
        if matches!(&self.state, State::Executing(execution) if execution.uuid == job) {
            self.state = State::Idle;
        }
        self.ack(job).await
    }

    async fn ack(&mut self, job: JobUuid) -> Result<(), End> {
        self.say(&ServerMessage::Ack { job: Some(job) }).await
    }

    async fn say(&mut self, message: &ServerMessage) -> Result<(), End> {
        let text = serde_json::to_string(message).expect("a message is plain data");
        self.socket
            .send(Message::Text(text.into()))
            .await
            .map_err(|_| End::Gone)
    }
}

/// Our own trouble ends the connection without an acknowledgement: the runner comes back and says it again.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands over"
)]
fn own_trouble(denied: Denied) -> End {
    tracing::error!(error = %denied, "a runner's word could not be carried out");
    End::Close {
        code: 1011,
        reason: "the server could not carry this out; try again",
    }
}

async fn note_contact(app: &App, runner: i64) {
    let wall = app.wall();
    let noted = app
        .store
        .ledger
        .submit(move |tx: &mut dyn Tx| runner::heard(tx, runner, wall))
        .await;
    if let Err(error) = noted {
        tracing::warn!(%error, "a runner's contact was not noted");
    }
}
