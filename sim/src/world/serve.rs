//! The server's part of an event: a call, a look at the database, the answer on its way.

use kiln_model::{Kind, RuntimeLeaseId};

use super::process::Process;
use super::{ConnectionId, Event, World};
use crate::note::Note;
use crate::outcome::Violation;
use crate::server::{Server, Trouble};
use crate::wire::{Ending, Request, Up};

/// How often heartbeats are written.
const FLUSH: i64 = 1_000;

impl World {
    /// Calls the server, if there is one, and checks what it did. No answer when it is away or died.
    pub(super) fn call<R>(
        &mut self,
        call: impl FnOnce(&mut Server, &mut Vec<Note>) -> Result<R, Trouble>,
    ) -> Result<Option<R>, Violation> {
        let Some(server) = &mut self.server else {
            return Ok(None);
        };
        let mut notes = Vec::new();
        let outcome = call(server, &mut notes);
        self.finish_call(outcome, &notes)
    }

    pub(super) fn start_server(&mut self) -> Result<(), Violation> {
        if self.server.is_some() {
            return Ok(());
        }
        let base = self.rng.within(0..=1_000_000);
        self.host.clock.start_process(base);
        self.host.plan.disarm();
        match Server::start(&self.host) {
            Ok(server) => {
                self.note(format_args!(
                    "the server starts at kernel time {}",
                    server.opened
                ));
                self.reader = server.store.reader.clone();
                self.server = Some(server);
                self.settle_in();
                self.check(&[])
            }
            Err(Trouble::Crashed) => {
                self.schedule.after(500, Event::ServerStart);
                Ok(())
            }
            Err(Trouble::Unexpected(what)) => Err(Violation::new("start", what)),
        }
    }

    /// The clockwork of a server that just began.
    pub(super) fn settle_in(&mut self) {
        self.server_number += 1;
        let server = self.server_number;
        self.schedule.after(FLUSH, Event::Flush { server });
        self.tick_after(1);
    }

    /// The server is gone, with everything it had in memory; another comes later.
    pub(super) fn lose_server(&mut self, downtime: i64) {
        if self.server.take().is_none() {
            return;
        }
        self.note(format_args!(
            "the server dies, and is away for {downtime} ms"
        ));
        self.frozen_until = 0;
        self.cut_everything();
        self.schedule.after(downtime, Event::ServerStart);
    }

    pub(super) fn tick(&mut self, number: u64) -> Result<(), Violation> {
        if number != self.tick_number {
            return Ok(());
        }
        if let Some(rest) = self.call(|server, _| server.tick())? {
            self.tick_after(rest);
        }
        self.pump()
    }

    pub(super) fn flush(&mut self, number: u64) -> Result<(), Violation> {
        if number != self.server_number {
            return Ok(());
        }
        self.call(Server::flush)?;
        self.call(Server::rest_outputs)?;
        self.schedule.after(FLUSH, Event::Flush { server: number });
        self.pump()
    }

    pub(super) fn connect(&mut self, id: ConnectionId, process: usize) {
        let Process { runner, slot, .. } = self.processes[process];
        let Some(server) = &mut self.server else {
            return;
        };
        if let Some(older) = server.connect(id, runner, slot) {
            self.note(format_args!("connection {id} supersedes {older}"));
            self.answer_on(older, vec![crate::wire::Down::Closed]);
        }
    }

    pub(super) fn hear(
        &mut self,
        id: ConnectionId,
        process: usize,
        word: &Up,
    ) -> Result<(), Violation> {
        let now = self.schedule.now();
        let runner = self.processes[process].runner;
        if !matches!(word, Up::Heartbeat | Up::Upload(_)) {
            self.note(format_args!(
                "process {process} says {}",
                describe_word(word)
            ));
        }
        if matches!(word, Up::Last(_)) {
            self.host
                .plan
                .acknowledge_early(self.options.acknowledge_early);
        }
        let said = self.call(|server, notes| server.hear(id, word, now, notes));
        self.host.plan.acknowledge_early(false);
        if let Some(words) = said? {
            // On a connection that was superseded nothing is heard, and nothing answered.
            if let Up::Last(last) = word
                && !words.is_empty()
            {
                self.remember(runner, &Request::Last(last.clone()));
            }
            self.answer_on(id, words);
        }
        self.pump()
    }

    pub(super) fn serve_request(
        &mut self,
        process: usize,
        life: u64,
        request: &Request,
    ) -> Result<(), Violation> {
        let (runner, kind) = (self.processes[process].runner, self.processes[process].kind);
        let wall = kiln_model::Clock::wall(&*self.host.clock);
        let lease = (kind == Kind::Runtime)
            .then(|| RuntimeLeaseId::mint(wall, &self.host.entropy).to_string());
        if !matches!(request, Request::Beat(_) | Request::Claim) {
            self.note(format_args!(
                "process {process} says {}",
                describe_request(request)
            ));
        }
        if matches!(request, Request::Last(_)) {
            self.host
                .plan
                .acknowledge_early(self.options.acknowledge_early);
        }
        let answer = self.call(|server, notes| server.answer(runner, request, lease, notes));
        self.host.plan.acknowledge_early(false);
        if let Some(reply) = answer? {
            self.remember(runner, request);
            self.reply(process, life, request, &reply);
        }
        self.pump()
    }

    /// Says again, in order, what a runner said about one of its jobs (I7).
    pub(super) fn say_again(&mut self) -> Result<(), Violation> {
        let keys: Vec<(i64, i64)> = self.said.keys().copied().collect();
        if keys.is_empty() {
            return Ok(());
        }
        let key = *self.rng.pick(&keys);
        let (runner, requests) = self.said[&key].clone();
        let prefix = self.rng.within(1..=8);
        let prefix = usize::try_from(prefix).unwrap_or(1);
        for request in requests.into_iter().take(prefix) {
            self.call(|server, notes| {
                let reply = server.answer(runner, &request, None, notes)?;
                notes.push(Note::Repeated);
                Ok(reply)
            })?;
        }
        Ok(())
    }

    /// Serves every connection that heard a bell.
    pub(super) fn pump(&mut self) -> Result<(), Violation> {
        let now = self.schedule.now();
        while let Some(Some((connection, words))) =
            self.call(|server, notes| server.pump(now, notes))?
        {
            self.answer_on(connection, words);
        }
        let rung = self.server.as_mut().is_some_and(Server::kernel_was_rung);
        if rung {
            let soon = self.rng.within(1..=20);
            self.tick_after(soon);
        }
        Ok(())
    }

    fn finish_call<R>(
        &mut self,
        outcome: Result<R, Trouble>,
        notes: &[Note],
    ) -> Result<Option<R>, Violation> {
        self.check(notes)?;
        let answer = match outcome {
            Ok(answer) => Some(answer),
            Err(Trouble::Crashed) => None,
            Err(Trouble::Unexpected(_)) if self.host.plan.has_crashed() => None,
            Err(Trouble::Unexpected(what)) => {
                return Err(Violation::new("no surprise", what));
            }
        };
        if self.host.plan.has_crashed() {
            let downtime = self.rng.within(200..=6_000);
            self.lose_server(downtime);
        }
        Ok(answer)
    }

    fn tick_after(&mut self, millis: i64) {
        self.tick_number += 1;
        let number = self.tick_number;
        self.schedule.after(millis, Event::Tick { number });
    }

    fn remember(&mut self, runner: i64, request: &Request) {
        let of = match request {
            Request::Start(of) => of,
            Request::Last(last) => &last.of,
            Request::Claim | Request::Beat(_) => return,
        };
        let said = self.said.entry((of.job, of.epoch));
        said.or_insert_with(|| (runner, Vec::new()))
            .1
            .push(request.clone());
    }
}

fn describe_word(word: &Up) -> String {
    match word {
        Up::Ready => "ready".to_owned(),
        Up::Running => "running".to_owned(),
        Up::Heartbeat => "heartbeat".to_owned(),
        Up::Upload(step) => format!("upload, job {}", step.of.job),
        Up::Last(last) => describe_request(&Request::Last(last.clone())),
    }
}

fn describe_request(request: &Request) -> String {
    match request {
        Request::Claim => "claim".to_owned(),
        Request::Start(of) => format!("running, job {} epoch {}", of.job, of.epoch),
        Request::Beat(of) => format!("heartbeat, job {} epoch {}", of.job, of.epoch),
        Request::Last(last) => {
            let word = match last.ending {
                Ending::Completed => "completed",
                Ending::Failed => "failed",
                Ending::Canceled => "canceled",
            };
            format!("{word}, job {} epoch {}", last.of.job, last.of.epoch)
        }
    }
}
