//! One connection of one runner, or of one slot of it.

mod polling;

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use kiln_control::Denied;
use kiln_control::jobs::Directive;
use kiln_model::v0::{JobOutput, RunnerMessage, ServerMessage};
use kiln_model::{JobUuid, Slot};
use kiln_store::sql::channel::Channel;
use kiln_store::sql::job::Job;
use kiln_store::sql::runner::Runner;
use kiln_store::{Bell, Listener};
use tokio::time::{Instant, sleep_until, timeout};

use super::words::{self, Fate};
use crate::app::{App, Shared};
use crate::metrics::{Count, One};
use crate::view;
use polling::{Poll, Quiet};

/// Seconds a `ready` may ask to wait.
const POLL: std::ops::RangeInclusive<u32> = 1..=900;
/// A peer that does not read for so long is gone.
const SEND_PATIENCE: Duration = Duration::from_secs(30);

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum End {
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

struct Execution {
    job: Job,
    uuid: JobUuid,
    bell: Listener,
    _counted: One,
}

struct Session<'a> {
    app: &'a App,
    runner: Runner,
    slot: Slot,
    channel: Channel,
    socket: WebSocket,
    state: State,
    /// Those it served when it last asked for work.
    lanes: Vec<i64>,
    /// That it was told of no work, and nothing has changed for it since.
    quiet: Option<Quiet>,
    /// The runner's credential may be replaced while the channel is open.
    runner_bell: Listener,
    /// When the last valid word was heard: pings, binary frames and nonsense do not count (I10).
    heard: Instant,
    /// `cancel` was said: until the runner has answered, what it says about its job is not answered.
    told_to_stop: bool,
    /// A newer program was offered: until it says `ready` again, or goes, it is at that.
    updating: Option<One>,
}

pub(super) async fn run(app: Shared, runner: Runner, slot: Slot, mut socket: WebSocket) {
    let place = app.channels.enter(runner.id, slot);
    let uuid = runner.uuid;
    let runner_bell = app.store.bells.subscribe(Bell::Runner(runner.id));
    // After the subscription: a key that was replaced since it was checked is noticed here or by the bell.
    let channel = match words::enter(&app, &runner, slot).await {
        Ok(channel) => channel,
        Err(denied) => return close(&mut socket, own_trouble(denied)).await,
    };
    tracing::info!(runner.id = %uuid, "runner {uuid} connected");
    app.metrics.count(Count::Connect);
    let mut session = Session {
        app: &app,
        runner,
        slot,
        channel,
        runner_bell,
        socket,
        state: State::Idle,
        lanes: Vec::new(),
        quiet: None,
        heard: Instant::now(),
        told_to_stop: false,
        updating: None,
    };
    let end = tokio::select! {
        end = session.serve() => end,
        () = place.superseded.cancelled() => SUPERSEDED,
        () = app.channels.shutdown().cancelled() => {
            End::Close { code: 1001, reason: "server shutting down" }
        }
    };
    close(&mut session.socket, end).await;
    app.metrics.count(Count::Disconnect);
    tracing::info!(runner.id = %uuid, "runner {uuid} disconnected");
}

impl Session<'_> {
    async fn serve(&mut self) -> End {
        loop {
            let silence = self.heard + self.app.bench.heartbeat_timeout;
            // What follows a word is in a box: a channel that waits, one of ten thousand, has no memory for it.
            let outcome = match &mut self.state {
                State::Idle => tokio::select! {
                    message = self.socket.recv() => Box::pin(self.receive(message)).await,
                    () = self.runner_bell.heard() => Box::pin(self.called()).await,
                    () = sleep_until(silence) => return LOST,
                },
                State::Polling(poll) => tokio::select! {
                    message = self.socket.recv() => Box::pin(self.receive(message)).await,
                    () = self.runner_bell.heard() => Box::pin(self.called()).await,
                    () = poll.bells.heard() => Box::pin(self.claim()).await,
                    () = sleep_until(poll.deadline) => Box::pin(self.give_up()).await,
                },
                State::Executing(execution) => tokio::select! {
                    message = self.socket.recv() => Box::pin(self.receive(message)).await,
                    () = self.runner_bell.heard() => Box::pin(self.called()).await,
                    () = execution.bell.heard() => Box::pin(self.look()).await,
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
        match read(&text) {
            Ok(message) => self.hear(message).await,
            Err(error) if matches!(self.state, State::Idle) => {
                tracing::warn!(runner.id = %self.runner.uuid, error, "a runner sent what is no message");
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
            RunnerMessage::Ready {
                poll_timeout,
                runner,
            } => self.ready(poll_timeout, runner).await,
            RunnerMessage::Running => self.running().await,
            RunnerMessage::Heartbeat => self.heartbeat().await,
            RunnerMessage::Output(text) => {
                // Of a job that this channel does not execute nobody wants to hear.
                if let State::Executing(execution) = &self.state {
                    let job = &execution.job;
                    self.app.live.hear(job.id, job.life.epoch, text);
                }
                Ok(())
            }
            RunnerMessage::Completed {
                job,
                results,
                conditions,
                large,
            } => {
                self.deliver(
                    job,
                    JobOutput {
                        results,
                        error: None,
                        conditions,
                        large,
                    },
                )
                .await
            }
            RunnerMessage::Failed {
                job,
                results,
                error,
                conditions,
                large,
            } => {
                self.deliver(
                    job,
                    JobOutput {
                        results,
                        error: Some(error),
                        conditions,
                        large,
                    },
                )
                .await
            }
            RunnerMessage::Canceled {
                job,
                results,
                conditions,
            } => {
                let wrote = !results.is_empty() || conditions.is_some();
                let output = wrote.then_some(JobOutput {
                    results,
                    conditions,
                    ..JobOutput::default()
                });
                words::canceled(self.app, &self.runner, job, output)
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

    /// Something about the runner changed: its key, whether it may take work, or it has come to another server.
    async fn called(&mut self) -> Result<(), End> {
        self.quiet = None;
        let is_newest = words::is_newest(self.app, &self.runner, self.channel);
        if !is_newest.await.map_err(own_trouble)? {
            return Err(SUPERSEDED);
        }
        match self.state {
            State::Polling(_) => self.claim().await,
            State::Idle | State::Executing(_) => Ok(()),
        }
    }

    fn execute(&mut self, job: Job, uuid: JobUuid) {
        let bell = self.app.store.bells.subscribe(Bell::Job(job.id));
        self.state = State::Executing(Box::new(Execution {
            job,
            uuid,
            bell,
            _counted: self.app.metrics.executing.enter(),
        }));
    }

    /// The job this connection executes; after a reconnect the runner's words tell that there is one.
    async fn held(&mut self) -> Result<Option<&Execution>, End> {
        let is_known = matches!(self.state, State::Executing(_) | State::Polling(_));
        if !is_known
            && !self.told_to_stop
            && let Some(job) = words::held(self.app, &self.runner, self.slot)
                .await
                .map_err(own_trouble)?
        {
            let uuid = view::job_uuid(&job).map_err(own_trouble)?;
            self.execute(job, uuid);
        }
        Ok(match &self.state {
            State::Executing(execution) => Some(execution),
            State::Idle | State::Polling(_) => None,
        })
    }

    async fn running(&mut self) -> Result<(), End> {
        let Some(Execution { job, uuid, .. }) = self.held().await? else {
            return self.let_go().await;
        };
        let (job, uuid) = (job.clone(), *uuid);
        match words::running(self.app, &self.runner, &job).await {
            Ok(Directive::Continue) => self.ack(uuid).await,
            Ok(Directive::Stop) | Err(Denied::NotHolder) => self.stop().await,
            Err(denied) => Err(own_trouble(denied)),
        }
    }

    async fn heartbeat(&mut self) -> Result<(), End> {
        let app = self.app;
        let Some(Execution { job, uuid, .. }) = self.held().await? else {
            return self.let_go().await;
        };
        let uuid = *uuid;
        words::heartbeat(app, job);
        self.ack(uuid).await
    }

    /// The runner speaks of a job that it does not hold, or not any more: it is to let go of it. One that asks for work
    /// has let go already, and one that was told needs not be told twice.
    async fn let_go(&mut self) -> Result<(), End> {
        if self.told_to_stop || matches!(self.state, State::Polling(_)) {
            return Ok(());
        }
        self.stop().await
    }

    /// Something about the job changed; if it was stopped, the runner hears it at once.
    async fn look(&mut self) -> Result<(), End> {
        let State::Executing(execution) = &self.state else {
            return Ok(());
        };
        match words::fate(self.app, &execution.job)
            .await
            .map_err(own_trouble)?
        {
            Fate::GoesOn => Ok(()),
            Fate::Stopped => self.stop().await,
            Fate::Lost => Err(LOST),
        }
    }

    async fn stop(&mut self) -> Result<(), End> {
        self.state = State::Idle;
        self.told_to_stop = true;
        self.say(&ServerMessage::Cancel).await
    }

    /// A last word about a job is acknowledged, whatever came of it.
    async fn terminal(&mut self, job: JobUuid) -> Result<(), End> {
        if matches!(&self.state, State::Executing(execution) if execution.uuid == job) {
            self.state = State::Idle;
        }
        self.told_to_stop = false;
        self.ack(job).await
    }

    async fn ack(&mut self, job: JobUuid) -> Result<(), End> {
        self.say(&ServerMessage::Ack { job: Some(job) }).await
    }

    async fn say(&mut self, message: &ServerMessage) -> Result<(), End> {
        say(&mut self.socket, message).await
    }
}

/// Another channel speaks for the runner now.
pub(super) const SUPERSEDED: End = End::Close {
    code: 1000,
    reason: "superseded by a newer connection",
};

/// The runner was not heard in time; the words are those of stock servers, quotes included.
pub(super) const LOST: End = End::Close {
    code: 1000,
    reason: "\"heartbeat_timeout\"",
};

pub(super) async fn say(socket: &mut WebSocket, message: &ServerMessage) -> Result<(), End> {
    let text = serde_json::to_string(message).expect("a message is plain data");
    let sent = timeout(SEND_PATIENCE, socket.send(Message::Text(text.into()))).await;
    match sent {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(End::Gone),
    }
}

pub(super) async fn close(socket: &mut WebSocket, end: End) {
    if let End::Close { code, reason } = end {
        let frame = CloseFrame {
            code,
            reason: reason.into(),
        };
        // The peer may be gone already; there is nobody to tell.
        let _ = timeout(SEND_PATIENCE, socket.send(Message::Close(Some(frame)))).await;
    }
}

/// A message, if it is one: a poll timeout out of its range makes it none.
fn read(text: &str) -> Result<RunnerMessage, String> {
    let message = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if let RunnerMessage::Ready {
        poll_timeout: Some(seconds),
        ..
    } = &message
        && !POLL.contains(seconds)
    {
        return Err(format!("poll_timeout is {seconds}"));
    }
    Ok(message)
}

/// Our own trouble ends the connection without an acknowledgement: the runner comes back and says it again. A credential
/// that was replaced ends it for good.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands over"
)]
pub(super) fn own_trouble(denied: Denied) -> End {
    if matches!(denied, Denied::Revoked) {
        return End::Close {
            code: 1008,
            reason: "the key of this runner is not valid any more",
        };
    }
    if matches!(denied, Denied::NotUploaded) {
        return End::Close {
            code: 1008,
            reason: "the output that this result names is not here: upload it first",
        };
    }
    tracing::error!(error = %denied, "a runner's word could not be carried out");
    End::Close {
        code: 1011,
        reason: "the server could not carry this out; try again",
    }
}
