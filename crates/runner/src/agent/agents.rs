//! A runner with slots: an agent for each of them.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use kiln_model::v0::HostFacts;
use kiln_model::{Clock, Entropy, Slot};
use tokio_util::sync::CancellationToken;

use super::disk::Disk;
use super::owner::Seat;
use super::{Agent, AgentConfig, AgentError, Ended, Shutdown};
use crate::Updates;
use crate::executor::{Executor, InTurn};
use crate::timer::{Timer, TokioTimer};

/// The agents of one runner, which share its executor. There is at least one.
#[derive(Debug)]
pub struct Agents {
    agents: Vec<Agent>,
    connected: CancellationToken,
}

impl Agents {
    /// Checks the configuration and takes the data directory into use.
    pub fn new(
        config: &AgentConfig,
        slots: u32,
        executor: Arc<dyn Executor>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, AgentError> {
        let timer = Arc::new(TokioTimer::new(clock));
        Self::with_timer(config, slots, executor, timer, entropy)
    }

    /// The same with a timer of the caller, who thereby decides how time passes.
    pub fn with_timer(
        config: &AgentConfig,
        slots: u32,
        executor: Arc<dyn Executor>,
        timer: Arc<dyn Timer>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, AgentError> {
        let first = Slot::new(0, slots).ok_or(AgentError::Slots(slots))?;
        let executor = if first.is_whole() {
            executor
        } else {
            Arc::new(InTurn::new(executor))
        };
        let slots_known = CancellationToken::new();
        let numbered = (0..slots).filter_map(|number| Slot::new(number, slots));
        let disks = Disk::open_all(&config.data_dir, slots)?;
        let common = std::iter::repeat_n((executor, timer, entropy), disks.len());
        let agents = numbered
            .zip(disks)
            .zip(common)
            .map(|((slot, disk), (executor, timer, entropy))| {
                let seat = Seat {
                    slot,
                    slots_known: slots_known.clone(),
                    disk,
                };
                Agent::in_seat(config, seat, executor, timer, entropy)
            })
            .collect::<Result<Vec<Agent>, AgentError>>()?;
        let connected = agents.first().map(Agent::connected).unwrap_or_default();
        Ok(Self { agents, connected })
    }

    /// See [`Agent::with_updates`].
    #[must_use]
    pub fn with_updates(self, updates: &Updates) -> Self {
        self.each(|agent| agent.with_updates(updates.clone()))
    }

    /// See [`Agent::with_host`].
    #[must_use]
    pub fn with_host(self, host: &HostFacts) -> Self {
        self.each(|agent| agent.with_host(host.clone()))
    }

    /// See [`Agent::with_uploads`].
    #[must_use]
    pub fn with_uploads(self, http: &reqwest::Client) -> Self {
        self.each(|agent| agent.with_uploads(http.clone()))
    }

    fn each(self, change: impl FnMut(Agent) -> Agent) -> Self {
        Self {
            agents: self.agents.into_iter().map(change).collect(),
            connected: self.connected,
        }
    }

    /// Canceled when the server has been reached for the first time.
    pub fn connected(&self) -> CancellationToken {
        self.connected.clone()
    }

    /// Works until all slots have ended. One that was offered another program has the others finish first; one that cannot go on
    /// stops them.
    pub async fn run(self, shutdown: Shutdown) -> Result<Ended, AgentError> {
        let every = Shutdown {
            drain: shutdown.drain.child_token(),
            stop: shutdown.stop.child_token(),
        };
        let running = self
            .agents
            .into_iter()
            .map(|agent| agent.run(every.clone()));
        let mut running: FuturesUnordered<_> = running.collect();
        let mut outcome = Ok(Ended::AsAsked);
        while let Some(ended) = running.next().await {
            match ended {
                Ok(Ended::AsAsked) => {}
                Ok(update @ Ended::Update(_)) => {
                    every.drain.cancel();
                    outcome = outcome.map(|_| update);
                }
                Err(error) => {
                    every.drain.cancel();
                    every.stop.cancel();
                    outcome = outcome.and(Err(error));
                }
            }
        }
        // Who was asked to end meanwhile does not become another program.
        outcome.map(|ended| match ended {
            Ended::Update(_) if shutdown.drain.is_cancelled() => Ended::AsAsked,
            ended @ (Ended::Update(_) | Ended::AsAsked) => ended,
        })
    }
}
