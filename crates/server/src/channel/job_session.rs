//! The older transport's socket: one connection for one claimed job.

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use kiln_control::Denied;
use kiln_control::jobs::Directive;
use kiln_model::v0::{JobMessage, ServerMessage};
use kiln_model::{JobUuid, Slot};
use kiln_store::sql::channel::Channel;
use kiln_store::sql::job::{self, Job};
use kiln_store::sql::runner::Runner;
use kiln_store::{Bell, Listener};
use tokio::time::{Instant, sleep_until};

use super::session::{End, LOST, SUPERSEDED, close, own_trouble, say};
use super::words::{self, Fate};
use super::{authenticate, limited, with_offers};
use crate::app::{App, Shared};
use crate::error::{ApiError, ApiResult};

/// `GET /v0/runners/{runner}/jobs/{job}`. Only a job that this runner holds, claimed or running, has a socket.
pub(crate) async fn open_job_channel(
    State(app): State<Shared>,
    Path((reference, uuid)): Path<(String, JobUuid)>,
    parts: Parts,
    upgrade: WebSocketUpgrade,
) -> ApiResult<Response> {
    let runner = authenticate(&app, reference, &parts).await?;
    let found = app
        .store
        .reader
        .read(move |query| job::find_public(query, &uuid.to_string()))
        .await?
        .filter(|job| job.life.runner == Some(runner.id))
        .ok_or_else(|| ApiError::not_found("job"))?;
    if !found.life.status.is_in_flight() {
        let message = format!(
            "the job is {}: only a claimed or running job has a socket",
            found.life.status
        );
        return Err(ApiError::new(StatusCode::CONFLICT, "conflict", message));
    }
    let output_limit = app.output_limit;
    let answer = limited(upgrade).on_upgrade(move |socket| run(app, runner, found, uuid, socket));
    Ok(with_offers(answer, output_limit))
}

struct Session<'a> {
    app: &'a App,
    runner: Runner,
    channel: Channel,
    job: Job,
    uuid: JobUuid,
    socket: WebSocket,
    bells: Listener,
    /// When the last valid word was heard.
    heard: Instant,
    /// The last word was heard, or `cancel` was said.
    is_over: bool,
}

async fn run(app: Shared, runner: Runner, job: Job, uuid: JobUuid, mut socket: WebSocket) {
    let place = app.channels.enter(runner.id, Slot::WHOLE);
    let counted = app.metrics.executing.enter();
    let bells = [Bell::Job(job.id), Bell::Runner(runner.id)];
    let bells = app.store.bells.subscribe_to(bells);
    let channel = match words::enter(&app, &runner, Slot::WHOLE).await {
        Ok(channel) => channel,
        Err(denied) => return close(&mut socket, own_trouble(denied)).await,
    };
    let mut session = Session {
        app: &app,
        bells,
        runner,
        channel,
        job,
        uuid,
        socket,
        heard: Instant::now(),
        is_over: false,
    };
    let end = tokio::select! {
        end = session.serve() => end,
        () = place.superseded.cancelled() => SUPERSEDED,
        () = app.channels.shutdown().cancelled() => {
            End::Close { code: 1001, reason: "server shutting down" }
        }
    };
    drop(counted);
    close(&mut session.socket, end).await;
}

impl Session<'_> {
    async fn serve(&mut self) -> End {
        loop {
            let silence = self.heard + self.app.bench.heartbeat_timeout;
            let outcome = tokio::select! {
                message = self.socket.recv() => self.receive(message).await,
                () = self.bells.heard() => self.look().await,
                // While the job lives, its lease decides how long silence may last.
                () = sleep_until(silence), if self.is_over => return LOST,
            };
            if let Err(end) = outcome {
                return end;
            }
        }
    }

    async fn receive(&mut self, message: Option<Result<Message, axum::Error>>) -> Result<(), End> {
        let text = match message {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => return Ok(()),
            Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(End::Gone),
        };
        let Ok(message) = serde_json::from_str(&text) else {
            return Ok(());
        };
        self.heard = Instant::now();
        self.hear(message).await
    }

    async fn hear(&mut self, message: JobMessage) -> Result<(), End> {
        match message {
            JobMessage::Running if !self.is_over => {
                match words::running(self.app, &self.runner, &self.job).await {
                    Ok(Directive::Continue) => self.ack().await,
                    Ok(Directive::Stop) | Err(Denied::NotHolder) => self.stop().await,
                    Err(denied) => Err(own_trouble(denied)),
                }
            }
            JobMessage::Heartbeat if !self.is_over => {
                words::heartbeat(self.app, &self.job);
                self.ack().await
            }
            JobMessage::Output(text) if !self.is_over => {
                self.app.live.hear(self.job.id, self.job.life.epoch, text);
                Ok(())
            }
            // It was told to stop, or has said its last word.
            JobMessage::Running | JobMessage::Heartbeat | JobMessage::Output(_) => Ok(()),
            JobMessage::Canceled => {
                words::canceled(self.app, &self.runner, self.uuid, None)
                    .await
                    .map_err(own_trouble)?;
                self.last_word().await
            }
            message @ (JobMessage::Completed { .. } | JobMessage::Failed { .. }) => {
                if let Some(output) = message.into_output() {
                    words::delivered(self.app, &self.runner, self.uuid, output)
                        .await
                        .map_err(own_trouble)?;
                }
                self.last_word().await
            }
        }
    }

    async fn look(&mut self) -> Result<(), End> {
        let is_newest = words::is_newest(self.app, &self.runner, self.channel);
        if !is_newest.await.map_err(own_trouble)? {
            return Err(SUPERSEDED);
        }
        if self.is_over {
            return Ok(());
        }
        match words::fate(self.app, &self.job)
            .await
            .map_err(own_trouble)?
        {
            Fate::GoesOn => Ok(()),
            Fate::Stopped => self.stop().await,
            Fate::Lost => Err(LOST),
        }
    }

    async fn last_word(&mut self) -> Result<(), End> {
        self.is_over = true;
        self.ack().await
    }

    async fn stop(&mut self) -> Result<(), End> {
        self.is_over = true;
        say(&mut self.socket, &ServerMessage::Cancel).await
    }

    /// The socket is the job's: there is no need to name it.
    async fn ack(&mut self) -> Result<(), End> {
        say(&mut self.socket, &ServerMessage::Ack { job: None }).await
    }
}
