//! What goes wrong, and when; all of it drawn before the world begins.

use kiln_model::{Kind, Slot};

use super::process::{Machine, Process};
use super::{Errand, Event, World};
use crate::crash::CrashPoint;
use crate::outcome::Violation;

/// The fewest faults of a world, apart from what happens to single messages.
const FEWEST: i64 = 20;
const MOST: i64 = 30;
const HOUR: i64 = 3_600_000;

#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// The server dies between two transactions.
    KillServer,
    /// The server dies at a commit that is about to come.
    CrashAtCommit,
    /// The server is away for up to ten lease windows.
    LongAbsence,
    /// Somebody sets the wall clock an hour forward or back.
    JumpWall,
    /// The server stands still for up to ten seconds.
    Freeze,
    /// Its machine does, and the monotonic clock with it.
    Suspend,
    KillRunner,
    /// A runner stands still for longer than its lease, or almost.
    StallRunner,
    CutConnection,
    /// A runner forgets what it does and asks for work.
    ForgetWork,
    StaleWord,
    /// A second process appears that says it is the same runner.
    Twin,
    RepeatWords,
    FailObjects,
    /// A person does something at a bad moment.
    Errand(Errand),
}

impl World {
    pub(super) fn draw_faults(&mut self, end: i64) {
        let count = self.rng.within(FEWEST..=MOST);
        for _ in 0..count {
            let fault = self.draw_fault();
            let at = self.rng.within(1_000..=end - 1_000);
            self.schedule.at(at, Event::Fault(fault));
        }
        if self.rng.percent(12) {
            let at = self.rng.within(5_000..=end - 1_000);
            self.schedule.at(at, Event::Fault(Fault::LongAbsence));
        }
        if self.rng.percent(25) {
            let at = self.rng.within(5_000..=end - 1_000);
            self.schedule.at(at, Event::Fault(Fault::FailObjects));
        }
        if self.rng.percent(20) {
            let at = self.rng.within(5_000..=end - 1_000);
            let fault = Fault::Errand(Errand::AbandonSession);
            self.schedule.at(at, Event::Fault(fault));
            let soon = self.rng.percent(50);
            let later = at + self.rng.within(1..=if soon { 40 } else { 15_000 });
            self.schedule
                .at(later, Event::Errand(Errand::ReopenSession));
        }
    }

    fn draw_fault(&mut self) -> Fault {
        match self.rng.within(1..=100) {
            1..=8 => Fault::KillServer,
            9..=24 => Fault::CrashAtCommit,
            25..=31 => Fault::JumpWall,
            32..=37 => Fault::Freeze,
            38..=41 => Fault::Suspend,
            42..=50 => Fault::KillRunner,
            51..=58 => Fault::StallRunner,
            59..=64 => Fault::CutConnection,
            65..=68 => Fault::ForgetWork,
            69..=76 => Fault::StaleWord,
            77..=79 => Fault::Twin,
            80..=85 => Fault::RepeatWords,
            86..=93 => Fault::Errand(Errand::Cancel),
            94..=96 => Fault::Errand(Errand::Retry),
            97..=98 => Fault::Errand(Errand::DrainQueue),
            _ => Fault::Errand(Errand::CancelQueue),
        }
    }

    pub(super) fn strike(&mut self, fault: Fault) -> Result<(), Violation> {
        self.faults += 1;
        let now = self.schedule.now();
        match fault {
            Fault::KillServer => {
                let downtime = self.rng.within(100..=8_000);
                self.lose_server(downtime);
            }
            Fault::CrashAtCommit => {
                let commits = self.rng.within(0..=3).unsigned_abs();
                let point = *self.rng.pick(&[CrashPoint::Before, CrashPoint::After]);
                self.host.plan.arm(commits, point);
                self.note(format_args!("the server will die {point:?} a commit"));
            }
            Fault::LongAbsence => {
                let downtime = self.rng.within(self.town.lease..=10 * self.town.lease);
                self.lose_server(downtime);
            }
            Fault::JumpWall => {
                let jump = *self.rng.pick(&[HOUR, -HOUR]);
                self.host.clock.jump_wall(jump);
                self.note(format_args!("the wall clock jumps by {jump} ms"));
            }
            Fault::Freeze | Fault::Suspend => {
                let span = self.rng.within(500..=10_000);
                if now >= self.frozen_until && self.server.is_some() {
                    let suspended = matches!(fault, Fault::Suspend);
                    self.host.clock.suspend(suspended);
                    self.frozen_until = now + span;
                    self.note(format_args!("the server stands still for {span} ms"));
                    self.schedule.at(self.frozen_until, Event::Thaw);
                }
            }
            Fault::KillRunner => {
                let index = self.rng.index(self.processes.len());
                self.note(format_args!("process {index} is killed"));
                self.kill(index);
                let away = self.rng.within(500..=20_000);
                self.schedule.after(away, Event::Boot { process: index });
            }
            Fault::StallRunner => {
                let index = self.rng.index(self.processes.len());
                let span = self
                    .rng
                    .within(self.town.lease / 2..=self.town.lease * 5 / 2);
                self.processes[index].asleep_until = now + span;
                self.note(format_args!("process {index} stands still for {span} ms"));
            }
            Fault::CutConnection => {
                let open: Vec<_> = self.connections.keys().copied().collect();
                if !open.is_empty() {
                    let connection = *self.rng.pick(&open);
                    self.note(format_args!("connection {connection} is cut"));
                    self.cut(connection);
                }
            }
            Fault::ForgetWork => self.forget_work(),
            Fault::StaleWord => self.say_something_stale(),
            Fault::Twin => self.add_twin(),
            Fault::RepeatWords => return self.repeat_words(),
            Fault::FailObjects => {
                self.note(format_args!(
                    "the object store and the till fail for a while"
                ));
                self.host.objects.fail_next(2);
                self.host.till.fail_next(2);
            }
            Fault::Errand(errand) => self.schedule.after(0, Event::Errand(errand)),
        }
        Ok(())
    }

    /// From here on nothing goes wrong any more, and everybody does their work.
    pub(super) fn calm_down(&mut self) -> Result<(), Violation> {
        self.note(format_args!("faults stop"));
        self.calm = true;
        self.host.plan.disarm();
        self.host.clock.suspend(false);
        self.frozen_until = 0;
        for index in 0..self.processes.len() {
            self.processes[index].asleep_until = 0;
            if self.processes[index].twin {
                self.kill(index);
            } else if !self.processes[index].alive {
                self.boot(index);
            }
        }
        self.start_server()
    }

    fn repeat_words(&mut self) -> Result<(), Violation> {
        if self.schedule.now() < self.frozen_until {
            return Ok(());
        }
        self.note(format_args!("what was said is said again"));
        self.say_again()?;
        self.pump()
    }

    fn forget_work(&mut self) {
        let index = self.rng.index(self.processes.len());
        self.note(format_args!("process {index} forgets its work"));
        let mut acts = Vec::new();
        match &mut self.processes[index].machine {
            Machine::Bench(runner) => runner.forget(&mut self.rng, &mut acts),
            Machine::Lease(runner) => runner.forget(),
        }
        if self.processes[index].alive {
            self.perform(index, acts);
        }
    }

    fn say_something_stale(&mut self) {
        for index in 0..self.processes.len() {
            let mut acts = Vec::new();
            if let Machine::Lease(runner) = &mut self.processes[index].machine {
                runner.say_something_stale(&mut self.rng, &mut acts);
            }
            if self.processes[index].alive {
                self.perform(index, acts);
            }
        }
    }

    fn add_twin(&mut self) {
        let bench: Vec<(i64, Slot)> = self
            .town
            .runners
            .iter()
            .filter(|resident| resident.kind == Kind::Bench)
            .flat_map(|resident| resident.bench_slots().map(|slot| (resident.id, slot)))
            .collect();
        let (runner, slot) = *self.rng.pick(&bench);
        self.processes.push(Process::bench(runner, slot, true));
        let process = self.processes.len() - 1;
        self.note(format_args!("process {process} says it is runner {runner}"));
        self.boot(process);
        let end = self.rng.within(5_000..=30_000);
        self.schedule.after(end, Event::Quit { process });
    }
}
