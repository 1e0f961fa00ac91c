//! The one task that owns the state: it turns what happens into events and carries out the effects.

use std::collections::VecDeque;
use std::future;
use std::sync::Arc;

use kiln_model::v0::{HostFacts, RunnerMessage, RunnerMetadata};
use kiln_model::{Clock, Entropy, Millis, Slot};
use tokio_util::sync::CancellationToken;

use super::disk::Disk;
use super::limits::{CLOSE_PATIENCE, MAX_BESIDE, POLL_SECONDS, STOP_PATIENCE};
use super::upload::{Upload, Uploading};
use super::work::Work;
use super::{
    AgentConfig, AgentError, Effect, Event, Exit, Moment, Outgoing, Phase, Remark, Shutdown, State,
};
use crate::channel::{Connection, Greeting, Heard, Target};
use crate::executor::Executor;
use crate::timer::{Timer, TokioTimer};
use crate::{Offer, Updates};

/// A runner, or one slot of it, that connects to its server and carries out what it is given.
#[derive(Debug)]
pub struct Agent {
    target: Target,
    seat: Seat,
    executor: Arc<dyn Executor>,
    timer: Arc<dyn Timer>,
    entropy: Arc<dyn Entropy>,
    updates: Option<Updates>,
    host: Option<HostFacts>,
    /// For uploads.
    http: Option<reqwest::Client>,
    connected: CancellationToken,
}

/// What each agent of a runner has for itself.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) slot: Slot,
    /// Canceled when the server has said that it knows slots. The first slot finds out, and the others wait for it.
    pub(super) slots_known: CancellationToken,
    pub(super) disk: Disk,
}

/// Why an agent has ended in good order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    AsAsked,
    /// For another program, to be put in the place of this one.
    Update(Offer),
}

impl Agent {
    /// Checks the configuration and takes the data directory into use.
    pub fn new(
        config: &AgentConfig,
        executor: Arc<dyn Executor>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, AgentError> {
        Self::with_timer(config, executor, Arc::new(TokioTimer::new(clock)), entropy)
    }

    /// The same with a timer of the caller, who thereby decides how time passes.
    pub fn with_timer(
        config: &AgentConfig,
        executor: Arc<dyn Executor>,
        timer: Arc<dyn Timer>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, AgentError> {
        let seat = Seat {
            slot: Slot::WHOLE,
            slots_known: CancellationToken::new(),
            disk: Disk::open(&config.data_dir)?,
        };
        Self::in_seat(config, seat, executor, timer, entropy)
    }

    pub(super) fn in_seat(
        config: &AgentConfig,
        seat: Seat,
        executor: Arc<dyn Executor>,
        timer: Arc<dyn Timer>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, AgentError> {
        Ok(Self {
            target: config.target(seat.slot)?,
            seat,
            executor,
            timer,
            entropy,
            updates: None,
            host: None,
            http: None,
            connected: CancellationToken::new(),
        })
    }

    /// Ends when the server offers another program, once nothing is held or owed, unless what is remembered of earlier ones
    /// speaks against it.
    #[must_use]
    pub fn with_updates(self, updates: Updates) -> Self {
        Self {
            updates: Some(updates),
            ..self
        }
    }

    /// Tells the server about its machine.
    #[must_use]
    pub fn with_host(self, host: HostFacts) -> Self {
        Self {
            host: Some(host),
            ..self
        }
    }

    /// Uploads output that does not fit into a message, where the server takes it. The owner of the client has chosen its
    /// TLS provider and proxies.
    #[must_use]
    pub fn with_uploads(self, http: reqwest::Client) -> Self {
        Self {
            http: Some(http),
            ..self
        }
    }

    /// Canceled when the server has been reached for the first time.
    pub fn connected(&self) -> CancellationToken {
        self.connected.clone()
    }

    /// Works until told to end, or until the server refuses the key. A server that cannot be reached is tried
    /// again for ever.
    pub async fn run(self, shutdown: Shutdown) -> Result<Ended, AgentError> {
        if self.seat.slot.number() > 0 {
            tokio::select! {
                () = self.seat.slots_known.cancelled() => {}
                () = shutdown.drain.cancelled() => return Ok(Ended::AsAsked),
                () = shutdown.stop.cancelled() => return Ok(Ended::AsAsked),
            }
        }
        let spooled = self.seat.disk.recover()?;
        let mut state = State::new(spooled, self.timer.monotonic());
        if let Some(updates) = &self.updates {
            state = state.with_updates(updates, self.moment());
        }
        let owner = Owner {
            phase: state.phase(),
            state,
            agent: self,
            connection: None,
            greeting: Greeting::default(),
            work: Work::None,
            uploading: Uploading::default(),
            is_reachable: true,
            is_alone: false,
        };
        owner.run(shutdown).await
    }

    fn moment(&self) -> Moment {
        let mut random = [0; 4];
        self.entropy.fill(&mut random);
        Moment {
            now: self.timer.monotonic(),
            jitter: u32::from_ne_bytes(random),
        }
    }
}

struct Owner {
    agent: Agent,
    state: State,
    connection: Option<Connection>,
    /// Of the newest channel.
    greeting: Greeting,
    work: Work,
    uploading: Uploading,
    /// As last logged.
    phase: Phase,
    is_reachable: bool,
    /// The server was found to give a runner one job at a time, and that was logged.
    is_alone: bool,
}

impl Owner {
    async fn run(mut self, shutdown: Shutdown) -> Result<Ended, AgentError> {
        let (mut is_draining, mut is_stopping) = (false, false);
        loop {
            let wake = self.state.next_wake();
            let event = tokio::select! {
                () = shutdown.stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    Event::Stop
                }
                () = shutdown.drain.cancelled(), if !is_draining => {
                    is_draining = true;
                    Event::Drain
                }
                heard = hear(&mut self.connection) => self.heard(heard),
                event = self.work.next() => event,
                event = self.uploading.next() => event,
                () = sleep(&*self.agent.timer, wake) => Event::Tick,
            };
            if let Some(exit) = self.handle(event).await {
                return self.finish(exit).await;
            }
        }
    }

    /// Applies an event and what follows from it.
    async fn handle(&mut self, event: Event) -> Option<Exit> {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for effect in self.state.apply(event, self.agent.moment()) {
                if let Effect::Exit(exit) = effect {
                    return Some(exit);
                }
                events.extend(self.perform(effect).await);
            }
            self.log_phase();
        }
        None
    }

    fn heard(&mut self, heard: Heard) -> Event {
        if let Heard::Connected(greeting) = heard
            && !self.is_welcome(greeting)
        {
            // There it would be taken for the first slot come again.
            self.connection = None;
            return Event::Disconnected;
        }
        let server = self.agent.target.server();
        match heard {
            Heard::Connected(greeting) => {
                self.greeting = greeting;
                self.is_reachable = true;
                self.agent.connected.cancel();
                tracing::info!("connected to {server}");
                Event::Connected
            }
            Heard::Message(message) => Event::Received(message),
            Heard::Refused => {
                if self.is_reachable {
                    tracing::warn!("{server} does not take this runner's key any more");
                }
                self.is_reachable = false;
                self.connection = None;
                Event::Refused
            }
            Heard::Lost(reason) => {
                if self.is_reachable {
                    tracing::warn!("no connection to {server}, trying again: {reason}");
                }
                self.is_reachable = false;
                self.connection = None;
                Event::Disconnected
            }
        }
    }

    /// Whether the server takes this slot for what it is. The first slot is the whole runner to one that knows of none.
    fn is_welcome(&mut self, greeting: Greeting) -> bool {
        let slot = self.agent.seat.slot;
        let is_known = slot.is_whole() || greeting.slots.is_some_and(|most| slot.of() <= most);
        if is_known {
            self.agent.seat.slots_known.cancel();
        } else if slot.number() == 0 && !self.is_alone {
            self.is_alone = true;
            let server = self.agent.target.server();
            tracing::warn!(
                "{server} gives this runner one job at a time: of its {} slots, one is used",
                slot.of()
            );
        }
        is_known || slot.number() == 0
    }

    async fn perform(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Connect => self.connection = Some(Connection::open(&self.agent.target)),
            Effect::Drop => self.connection = None,
            Effect::Close => return self.on_connection(Connection::close),
            Effect::Send(message) => {
                let text = encode(&message, self.agent.host.as_ref());
                let lost = self.on_connection(|connection| connection.send(text));
                if lost.is_none() && message == Outgoing::Heartbeat {
                    self.tell_output();
                }
                return lost;
            }
            Effect::SetUp(job) => {
                let uuid = job.uuid;
                // Nothing is said of the job before it is held on disk, but what it needs can be fetched meanwhile.
                self.work = Work::set_up(&self.agent.executor, *job);
                self.agent.seat.disk.hold(uuid).await;
            }
            Effect::Execute => {
                let beside = self.beside();
                self.work = std::mem::take(&mut self.work).execute(beside);
            }
            Effect::StopWork => self.work = std::mem::take(&mut self.work).stop(),
            Effect::Spool(delivery) => return Some(self.agent.seat.disk.write(delivery).await),
            Effect::Upload { job, large } => {
                let Some(http) = self.agent.http.clone().filter(|_| self.beside() > 0) else {
                    return Some(Event::Uploaded { job, taken: false });
                };
                self.uploading = Uploading::start(Upload {
                    http,
                    target: self.agent.target.clone(),
                    timer: Arc::clone(&self.agent.timer),
                    job,
                    large,
                    path: self.agent.seat.disk.large_path(job),
                });
            }
            Effect::Forget(job) => self.agent.seat.disk.forget(job).await,
            Effect::Remark(remark) => log_remark(&remark),
            Effect::Exit(_) => unreachable!("handled by the caller"),
        }
        None
    }

    /// Tells what the command has written, where the server wants to hear it. What does not go out now is lost: the result
    /// brings it again.
    fn tell_output(&self) {
        let (Some(limit), Some(connection)) = (self.greeting.live_piece, &self.connection) else {
            return;
        };
        for text in self.work.written(limit) {
            let message = RunnerMessage::Output(text);
            let text = serde_json::to_string(&message).expect("a message has only text keys");
            if !connection.has_room() || connection.send(text).is_err() {
                return;
            }
        }
    }

    /// How many bytes of output may go beside a message.
    fn beside(&self) -> usize {
        let limit = self.greeting.output_limit.unwrap_or_default();
        match self.agent.http {
            Some(_) => usize::try_from(limit).map_or(MAX_BESIDE, |limit| limit.min(MAX_BESIDE)),
            None => 0,
        }
    }

    /// A connection that takes nothing any more is as good as lost.
    fn on_connection<E>(
        &mut self,
        act: impl FnOnce(&Connection) -> Result<(), E>,
    ) -> Option<Event> {
        let result = self.connection.as_ref().map(act)?;
        result.err().map(|_| {
            self.connection = None;
            Event::Disconnected
        })
    }

    fn log_phase(&mut self) {
        let phase = self.state.phase();
        if phase == self.phase {
            return;
        }
        self.phase = phase;
        match (phase, self.state.job()) {
            (Phase::Idle, _) => tracing::info!("waiting for a job"),
            (Phase::SettingUp, Some(job)) => tracing::info!(job.id = %job, "setting up job {job}"),
            (Phase::Executing, Some(job)) => tracing::info!(job.id = %job, "executing job {job}"),
            (Phase::Stopping, Some(job)) => tracing::info!(job.id = %job, "stopping job {job}"),
            (Phase::Delivering, Some(job)) => {
                tracing::info!(job.id = %job, "delivering the result of job {job}");
            }
            _ => {}
        }
    }

    async fn finish(mut self, exit: Exit) -> Result<Ended, AgentError> {
        let timer = Arc::clone(&self.agent.timer);
        let patience = |span| sleep(&*timer, Some(timer.monotonic() + span));
        tokio::select! {
            () = self.work.abandon() => {}
            () = patience(STOP_PATIENCE) => tracing::error!("the job at hand does not stop; it is left behind"),
        }
        if let Some(mut connection) = self.connection.take()
            && connection.close().is_ok()
        {
            let until_lost = async { while !matches!(connection.hear().await, Heard::Lost(_)) {} };
            tokio::select! {
                () = until_lost => {}
                () = patience(CLOSE_PATIENCE) => {}
            }
        }
        match (exit, self.state.job()) {
            (Exit::Unauthorized, _) => Err(AgentError::Unauthorized),
            (Exit::Undelivered, Some(job)) => Err(AgentError::Undelivered { job }),
            (Exit::Update(offer), _) => Ok(Ended::Update(*offer)),
            (Exit::Done | Exit::Undelivered, _) => Ok(Ended::AsAsked),
        }
    }
}

async fn hear(connection: &mut Option<Connection>) -> Heard {
    match connection {
        Some(connection) => connection.hear().await,
        None => future::pending().await,
    }
}

async fn sleep(timer: &dyn Timer, until: Option<Millis>) {
    match until {
        Some(at) => timer.sleep_until(at).await,
        None => future::pending().await,
    }
}

fn encode(message: &Outgoing, host: Option<&HostFacts>) -> String {
    let message = match message {
        Outgoing::Ready { introduce } => RunnerMessage::Ready {
            poll_timeout: Some(POLL_SECONDS),
            runner: introduce.then(|| RunnerMetadata {
                os: std::env::consts::OS.to_owned(),
                arch: std::env::consts::ARCH.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                channel: None,
                checksum: None,
                host: host.cloned(),
                slots: None,
            }),
        },
        Outgoing::Running => RunnerMessage::Running,
        Outgoing::Heartbeat => RunnerMessage::Heartbeat,
        Outgoing::Result(delivery) => return delivery.text().to_owned(),
    };
    serde_json::to_string(&message).expect("a message has only text keys")
}

fn log_remark(remark: &Remark) {
    match remark {
        Remark::UnexpectedJob(job) => {
            tracing::error!(job.id = %job, "job {job} came while another is held and is left to its lease");
        }
        Remark::UpdateDeclined { version } => {
            tracing::info!("the server offers version {version}, which this runner does not take");
        }
        Remark::NoAnswer => {
            tracing::warn!("the server owes an answer for too long, connecting anew");
        }
    }
}

#[cfg(test)]
mod tests;
