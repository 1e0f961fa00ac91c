//! Runners that do nothing but wait, run and come back.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kiln_model::Entropy as _;
use kiln_store::SystemEntropy;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at, sleep};

use super::{LOOK, PATIENCE, RUNNERS};
use crate::failure::Failure;
use crate::fleet::channel::Channel;
use crate::fleet::words::{self, HEARTBEAT, Heard, POLL_SECONDS, RUNNING};
use crate::fleet::world::{Credentials, World};

/// How many connect at a time, as long as nothing is measured.
const AT_A_TIME: usize = 64;
const BEAT: Duration = Duration::from_secs(1);
/// As runners of ours wait before they try again: it doubles, and between half and all of it is waited.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How far the runners came.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) connected: AtomicU32,
    pub(super) running: AtomicU32,
    pub(super) acks: AtomicU32,
    /// Connected again, and heard.
    pub(super) back: AtomicU32,
}

pub(super) struct Fleet {
    runners: JoinSet<Result<Infallible, Failure>>,
    pub(super) tally: Arc<Tally>,
}

impl Fleet {
    pub(super) fn connect(world: &World, server: SocketAddr) -> Self {
        let (doors, tally) = (
            Arc::new(Semaphore::new(AT_A_TIME)),
            Arc::new(Tally::default()),
        );
        let mut runners = JoinSet::new();
        for (place, who) in world.runners.iter().enumerate() {
            let runner = Runner {
                server,
                who: who.clone(),
                place,
                tally: Arc::clone(&tally),
            };
            runners.spawn(runner.live(Arc::clone(&doors)));
        }
        Self { runners, tally }
    }

    /// Waits until so many came so far.
    pub(super) async fn until(
        &mut self,
        count: usize,
        of: fn(&Tally) -> &AtomicU32,
    ) -> Result<(), Failure> {
        let tally = Arc::clone(&self.tally);
        let reached = || of(&tally).load(Ordering::Relaxed) as usize;
        let all = async {
            while reached() < count {
                sleep(LOOK).await;
            }
        };
        tokio::select! {
            () = all => Ok(()),
            Some(broken) = self.runners.join_next() => {
                let Err(broken) = broken.expect("nobody cancels it");
                Err(broken)
            }
            () = sleep(PATIENCE) => Err(Failure::Wrong(format!(
                "only {} of {count} runners came so far in time", reached()
            ))),
        }
    }

    pub(super) fn go(self) {
        drop(self);
    }
}

struct Runner {
    server: SocketAddr,
    who: Credentials,
    place: usize,
    tally: Arc<Tally>,
}

impl Runner {
    async fn live(self, doors: Arc<Semaphore>) -> Result<Infallible, Failure> {
        let door = doors.acquire().await.expect("nobody closes it");
        let mut channel = self.open().await?;
        drop(door);
        // Spread over the time that a question lasts, as the questions of many are after a while.
        let seconds = u32::try_from(self.place).unwrap_or(0) % POLL_SECONDS + 1;
        channel.say(&words::introduction(seconds)).await?;
        self.tally.connected.fetch_add(1, Ordering::Relaxed);
        channel.job().await?;
        channel.tell(RUNNING).await?;
        self.tally.running.fetch_add(1, Ordering::Relaxed);
        loop {
            let ended = self.beat(&mut channel).await;
            if let Err(Ended::Told(why)) = ended {
                return Err(why);
            }
            channel = self.come_back().await;
            self.tally.back.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn open(&self) -> Result<Channel, Failure> {
        Channel::open(self.server, &self.who, self.place).await
    }

    async fn beat(&self, channel: &mut Channel) -> Result<Infallible, Ended> {
        let phase = BEAT.mul_f64(share(self.place));
        let mut beats = interval_at(Instant::now() + phase, BEAT);
        loop {
            tokio::select! {
                _ = beats.tick() => channel.say(HEARTBEAT).await.map_err(|_| Ended::Lost)?,
                heard = channel.hear() => match heard {
                    Ok(Heard::Ack) => {
                        self.tally.acks.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(other) => {
                        let why = format!("a runner that runs heard {other:?}");
                        return Err(Ended::Told(Failure::Wrong(why)));
                    }
                    Err(_) => return Err(Ended::Lost),
                },
            }
        }
    }

    /// Tries until the server answers a heartbeat.
    async fn come_back(&self) -> Channel {
        let mut wait = FIRST_WAIT;
        loop {
            let mut random = [0; 4];
            SystemEntropy.fill(&mut random);
            let jitter = f64::from(u32::from_ne_bytes(random)) / f64::from(u32::MAX);
            sleep(wait / 2 + (wait / 2).mul_f64(jitter)).await;
            wait = (wait * 2).min(LONGEST_WAIT);
            if let Ok(mut channel) = self.open().await
                && channel.tell(HEARTBEAT).await.is_ok()
            {
                return channel;
            }
        }
    }
}

/// Why a runner's heart stopped.
enum Ended {
    /// The connection is gone.
    Lost,
    /// The server said what it should not say.
    Told(Failure),
}

#[expect(clippy::cast_precision_loss, reason = "ten thousand at most")]
fn share(place: usize) -> f64 {
    place as f64 / RUNNERS as f64
}
