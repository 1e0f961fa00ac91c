//! Bells between the servers of one PostgreSQL: LISTEN and NOTIFY on connections of their own.
//!
//! NOTIFY inside the ledger's transactions would make their commits wait for each other, so one thread sends for the
//! whole server, a few milliseconds' worth at a time. What is lost with a connection is made good by ringing everything.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kiln_model::Entropy;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Config};

use super::Bells;
use super::message::{Message, Rings};
use crate::Error;
use crate::engine::postgres::connect;

const CHANNEL: &str = "kiln_bells";
/// How long rings are collected before they are sent.
const DEBOUNCE: Duration = Duration::from_millis(5);
/// How long the listening thread sleeps in the driver before it looks whether it should end.
const PATIENCE: Duration = Duration::from_millis(200);
/// The pause before another try to connect.
const RETRY: Duration = Duration::from_millis(500);

/// The two threads of the relay; they end when it is stopped.
#[derive(Debug)]
pub(crate) struct Relay {
    outbox: Arc<Outbox>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Rings on their way to the other servers.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    rings: Rings,
    stopped: bool,
}

impl Relay {
    /// Connects `bells` with those of the other servers. Rings of theirs that commit after this call are heard here.
    pub(crate) fn start(
        config: &Config,
        bells: &Bells,
        entropy: &dyn Entropy,
    ) -> Result<Self, Error> {
        let mut server = [0; 8];
        entropy.fill(&mut server);
        let server = u64::from_be_bytes(server);
        let outbox = Arc::new(Outbox::default());
        let listening = listen(config).ok();
        bells.attach(Arc::clone(&outbox));
        let receiver = Receiver {
            config: config.clone(),
            bells: bells.clone(),
            outbox: Arc::clone(&outbox),
            server,
        };
        let sender = Sender {
            config: config.clone(),
            outbox: Arc::clone(&outbox),
            server,
            client: None,
        };
        let threads = [
            spawn("kiln-bells-in", move || receiver.run(listening))?,
            spawn("kiln-bells-out", move || sender.run())?,
        ];
        Ok(Self {
            outbox,
            threads: Mutex::new(threads.into()),
        })
    }

    /// Sends what is collected and ends the threads.
    pub(crate) fn stop(&self) {
        self.outbox.lock().stopped = true;
        self.outbox.changed.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            drop(thread.join());
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.outbox.lock().stopped = true;
        self.outbox.changed.notify_all();
    }
}

impl Outbox {
    pub(crate) fn push(&self, bells: &[crate::Bell]) {
        if bells.is_empty() {
            return;
        }
        let mut state = self.lock();
        for bell in bells {
            state.rings.add(*bell);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for rings, lets more of them gather, and takes them. None when the relay is stopped and all are taken.
    fn take(&self) -> Option<Rings> {
        let state = self.lock();
        let state = self
            .changed
            .wait_while(state, |s| s.rings.is_empty() && !s.stopped);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let gathered = self
            .changed
            .wait_timeout_while(state, DEBOUNCE, |s| !s.stopped);
        let (mut state, _) = gathered.unwrap_or_else(PoisonError::into_inner);
        let rings = std::mem::take(&mut state.rings);
        (!rings.is_empty()).then_some(rings)
    }

    /// Puts back what could not be sent.
    fn give_back(&self, rings: Rings) {
        self.lock().rings.merge(rings);
    }

    /// Pauses, unless the relay is stopped; tells whether it is.
    fn pause(&self, time: Duration) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), time, |s| !s.stopped);
        waited.unwrap_or_else(PoisonError::into_inner).0.stopped
    }

    fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Sender {
    config: Config,
    outbox: Arc<Outbox>,
    server: u64,
    client: Option<Client>,
}

impl Sender {
    fn run(mut self) {
        while let Some(rings) = self.outbox.take() {
            if let Err(error) = self.send(&rings) {
                tracing::warn!(%error, "other servers were not told of a change; trying again");
                self.client = None;
                self.outbox.give_back(rings);
                if self.outbox.pause(RETRY) {
                    return;
                }
            }
        }
    }

    fn send(&mut self, rings: &Rings) -> Result<(), postgres::Error> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => connect(&self.config)?,
        };
        for payload in rings.payloads(self.server) {
            client.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, &payload])?;
        }
        self.client = Some(client);
        Ok(())
    }
}

struct Receiver {
    config: Config,
    bells: Bells,
    outbox: Arc<Outbox>,
    server: u64,
}

impl Receiver {
    fn run(self, mut client: Option<Client>) {
        loop {
            if let Some(mut connected) = client.take()
                && let Err(error) = self.listen(&mut connected)
            {
                tracing::warn!(%error, "lost the connection that hears other servers; connecting again");
            }
            if self.outbox.is_stopped() {
                return;
            }
            match listen(&self.config) {
                Ok(connected) => {
                    client = Some(connected);
                    self.bells.ring_everything();
                }
                Err(_) if self.outbox.pause(RETRY) => return,
                Err(_) => {}
            }
        }
    }

    fn listen(&self, client: &mut Client) -> Result<(), postgres::Error> {
        while !self.outbox.is_stopped() {
            let mut notifications = client.notifications();
            let mut heard = notifications.timeout_iter(PATIENCE);
            while let Some(notification) = heard.next()? {
                self.ring(notification.payload());
            }
        }
        Ok(())
    }

    fn ring(&self, payload: &str) {
        match Message::parse(payload) {
            Some(message) if message.server == self.server => {}
            Some(Message {
                rings: Some(rings), ..
            }) => self.bells.ring_local(&rings),
            Some(Message { rings: None, .. }) | None => self.bells.ring_everything(),
        }
    }
}

fn listen(config: &Config) -> Result<Client, postgres::Error> {
    let mut client = connect(config)?;
    client.batch_execute(&format!("LISTEN {CHANNEL}"))?;
    Ok(client)
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    let thread = thread::Builder::new().name(name.into()).spawn(body);
    thread.map_err(|error| Error::Refused(format!("cannot start the thread {name}: {error}")))
}

#[cfg(test)]
mod tests;
