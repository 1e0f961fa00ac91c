//! What lies between runners and the server: late, twice, in another order, or not at all; but never so within one
//! connection, which is cut instead.

use std::collections::VecDeque;

use super::{Event, World};
use crate::outcome::Violation;
use crate::wire::{Down, Reply, Request, Up};

pub(super) type ConnectionId = u64;

/// A channel between a process and the server. Words wait in order; an event only says that the next one arrives.
#[derive(Debug)]
pub(super) struct Connection {
    process: usize,
    life: u64,
    /// Nothing gets through any more.
    cut: bool,
    /// What comes first is the opening itself.
    up: VecDeque<Option<Up>>,
    down: VecDeque<Down>,
    /// Nothing arrives earlier than what was sent before it.
    up_until: i64,
    down_until: i64,
}

impl World {
    pub(super) fn open_connection(&mut self, index: usize) {
        if let Some(old) = self.processes[index].connection.take() {
            self.connections.remove(&old);
            if let Some(server) = &mut self.server {
                server.disconnect(old);
            }
        }
        self.next_connection += 1;
        let id = self.next_connection;
        self.connections.insert(
            id,
            Connection {
                process: index,
                life: self.processes[index].life,
                cut: false,
                up: VecDeque::new(),
                down: VecDeque::new(),
                up_until: 0,
                down_until: 0,
            },
        );
        self.processes[index].connection = Some(id);
        self.send_up(id, None);
    }

    pub(super) fn say(&mut self, index: usize, word: Up) {
        let Some(connection) = self.processes[index].connection else {
            return;
        };
        if !self.calm && self.rng.percent(1) {
            self.faults += 1;
            self.note(format_args!("process {index} loses its connection"));
            return self.cut(connection);
        }
        self.send_up(connection, Some(word));
    }

    pub(super) fn answer_on(&mut self, id: ConnectionId, words: Vec<Down>) {
        for word in words {
            let delay = self.delay();
            let now = self.schedule.now();
            let Some(connection) = self.connections.get_mut(&id).filter(|found| !found.cut) else {
                return;
            };
            connection.down.push_back(word);
            connection.down_until = connection.down_until.max(now + delay);
            self.schedule.at(connection.down_until, Event::Down(id));
        }
    }

    pub(super) fn deliver_up(&mut self, id: ConnectionId) -> Result<(), Violation> {
        let Some(connection) = self.connections.get_mut(&id) else {
            return Ok(());
        };
        let (process, word) = (connection.process, connection.up.pop_front());
        match (word, &self.server) {
            (_, None) => {
                self.cut(id);
                Ok(())
            }
            (Some(None), _) => {
                self.connect(id, process);
                Ok(())
            }
            (Some(Some(word)), _) => self.hear(id, process, &word),
            (None, _) => Ok(()),
        }
    }

    pub(super) fn deliver_down(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let process = &self.processes[connection.process];
        if self.schedule.now() < process.asleep_until {
            return self.schedule.at(process.asleep_until, Event::Down(id));
        }
        let index = connection.process;
        let mine = process.alive && process.life == connection.life;
        let Some(word) = connection.down.pop_front() else {
            return;
        };
        if word == Down::Closed {
            self.connections.remove(&id);
        }
        if mine && self.processes[index].connection == Some(id) {
            if word == Down::Closed {
                self.processes[index].connection = None;
            }
            self.tell_process(index, word);
        }
    }

    /// Whatever was on its way is lost; the runner notices some time later, the server soon or only when it is told.
    pub(super) fn cut(&mut self, id: ConnectionId) {
        let noticed = self.rng.percent(70);
        let delay = self.rng.within(10..=3_000);
        if let Some(server) = self.server.as_mut().filter(|_| noticed) {
            server.disconnect(id);
        }
        let Some(connection) = self.connections.get_mut(&id).filter(|found| !found.cut) else {
            return;
        };
        connection.cut = true;
        connection.up.clear();
        connection.down.clear();
        connection.down.push_back(Down::Closed);
        self.schedule.after(delay, Event::Down(id));
    }

    pub(super) fn cut_everything(&mut self) {
        let ids: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for id in ids {
            self.cut(id);
        }
    }

    pub(super) fn ask(&mut self, index: usize, request: &Request) {
        let life = self.processes[index].life;
        for _ in 0..self.copies("request") {
            let delay = self.delay();
            self.schedule.after(
                delay,
                Event::Request {
                    process: index,
                    life,
                    request: request.clone(),
                },
            );
        }
    }

    pub(super) fn reply(&mut self, index: usize, life: u64, request: &Request, reply: &Reply) {
        for _ in 0..self.copies("reply") {
            let delay = self.delay();
            self.schedule.after(
                delay,
                Event::Reply {
                    process: index,
                    life,
                    request: request.clone(),
                    reply: reply.clone(),
                },
            );
        }
    }

    fn send_up(&mut self, id: ConnectionId, word: Option<Up>) {
        let delay = self.delay();
        let now = self.schedule.now();
        if let Some(connection) = self.connections.get_mut(&id).filter(|found| !found.cut) {
            connection.up.push_back(word);
            connection.up_until = connection.up_until.max(now + delay);
            self.schedule.at(connection.up_until, Event::Up(id));
        }
    }

    fn delay(&mut self) -> i64 {
        if !self.calm && self.rng.percent(5) {
            self.faults += 1;
            return self.rng.within(200..=2_500);
        }
        self.rng.within(1..=60)
    }

    /// How often something that is sent once arrives.
    fn copies(&mut self, what: &str) -> usize {
        if self.calm {
            return 1;
        }
        match self.rng.within(1..=100) {
            1..=3 => {
                self.faults += 1;
                self.note(format_args!("a {what} is lost"));
                0
            }
            4..=6 => {
                self.faults += 1;
                self.note(format_args!("a {what} arrives twice"));
                2
            }
            _ => 1,
        }
    }
}
