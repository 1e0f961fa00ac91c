//! One seed of the kernel's world.

use std::sync::Arc;

use kiln_kernel::Status;
use kiln_model::Millis;

use super::book::SentKind;
use super::checks;
use super::script::Script;
use super::stage::{Stage, WORKERS, draw_policy};
use crate::outcome::{Outcome, Violation};
use crate::rng::Rng;
use crate::trace::Trace;
use crate::world::Options;

/// How many things happen before the world calms down.
const STEPS: u64 = 110;
/// How many polls a calm world needs at most: every frame with its whole budget.
const PATIENCE: u64 = 3_000;

struct World {
    stage: Arc<Stage>,
    trace: Trace,
    /// Nothing goes wrong, one runner for each inbox: the order is known.
    peaceful: bool,
    processes: u64,
    steps: u64,
    names: u64,
}

/// Runs the kernel's world of a seed to its end, or to its first broken promise.
pub fn run(seed: u64, options: Options) -> Outcome {
    let mut rng = Rng::new(seed ^ 0x6b65_726e_656c);
    let peaceful = rng.percent(20);
    let policy = draw_policy(&mut rng);
    let runners_each = if peaceful {
        1
    } else {
        rng.within(1..=2).unsigned_abs()
    };
    let mut world = match Stage::new(rng.next(), policy, runners_each) {
        Ok(stage) => World {
            stage,
            trace: Trace::new(options.verbose),
            peaceful,
            processes: 0,
            steps: 0,
            names: 0,
        },
        Err(status) => return failed_to_start(seed, &status),
    };
    let violation = world.play().err();
    let stage = Arc::clone(&world.stage);
    stage.close();
    let faults = stage.book().faults;
    Outcome {
        seed,
        steps: world.steps,
        faults,
        hash: world.trace.hash(),
        violation,
        trace: world.trace.into_lines(),
    }
}

impl World {
    fn play(&mut self) -> Result<(), Violation> {
        self.stage.book().calm = self.peaceful;
        self.open()?;
        for _ in 0..STEPS {
            self.step();
            self.look()?;
        }
        self.finish()
    }

    fn step(&mut self) {
        self.steps += 1;
        let stage = Arc::clone(&self.stage);
        let passed = stage.book().rng.within(0..=150);
        stage.clock.advance(passed);
        let roll = stage.book().rng.within(1..=100);
        match roll {
            1..=32 => self.send(),
            33..=46 => self.arm(),
            47..=52 if !self.peaceful => {
                self.tell(format_args!("a timer is canceled"));
                stage.cancel_something();
            }
            53..=56 => {
                let span = stage.book().rng.within(100..=3_000);
                stage.clock.advance(span);
            }
            57..=59 if !self.peaceful => {
                self.tell(format_args!("a dead letter is sent back"));
                stage.replay_one();
            }
            60..=64 if !self.peaceful => {
                self.tell(format_args!("the process will die at a commit"));
                stage.arm_crash();
            }
            _ => self.poll(),
        }
    }

    fn send(&mut self) {
        let stage = Arc::clone(&self.stage);
        let (worker, roll) = {
            let rng = &mut stage.book().rng;
            (rng.next() % WORKERS, rng.within(1..=100))
        };
        let script = self.draw_script();
        let name = self.name(worker);
        match roll {
            1..=16 if !self.peaceful => {
                let number = stage.book().rng.within(1..=3);
                let id = format!("{worker}-once{number}");
                let script = Script {
                    child: false,
                    failures: 0,
                    ..script
                };
                stage.send(&id, worker, script, SentKind::Once);
            }
            17..=22 if !self.peaceful => {
                stage.send(&name, worker, Script::PLAIN, SentKind::Misrouted);
            }
            23..=28 if !self.peaceful => {
                stage.send_garbage(worker, format!("nonsense {name}").into_bytes());
            }
            _ => stage.send(&name, worker, script, SentKind::Plain),
        }
        self.tell(format_args!("{name} is sent to {worker}"));
    }

    fn arm(&mut self) {
        let stage = Arc::clone(&self.stage);
        let (worker, delay) = {
            let rng = &mut stage.book().rng;
            let delay = *rng.pick(&[-1_000, 0, 300, 300, 1_200, 1_200, 4_000]);
            (rng.next() % WORKERS, delay)
        };
        let script = self.draw_script();
        let name = self.name(worker);
        // Rounded, so that some timers are due at the same time.
        let due = Millis((stage.now().0 / 500) * 500 + delay);
        stage.arm(&name, worker, script, due);
        self.tell(format_args!("{name} is armed for {due}"));
    }

    fn poll(&mut self) {
        let stage = Arc::clone(&self.stage);
        let (runner, timers, max) = {
            let runners = stage.runners().max(1);
            let rng = &mut stage.book().rng;
            (rng.index(runners), rng.percent(50), rng.index(5) + 1)
        };
        let what = if timers { "timers" } else { "inbox" };
        self.tell(format_args!("runner {runner} polls its {what}"));
        stage.poll(runner, timers, max);
    }

    /// Checks everything, and starts the process again if it died; tells whether frames wait.
    fn look(&mut self) -> Result<bool, Violation> {
        if self.stage.plan.has_crashed() {
            self.tell(format_args!("the process dies, and starts again"));
            self.open()?;
        }
        let content = self.stage.content().map_err(|status| unreadable(&status))?;
        let frames = content.inbox.len() + content.timers.len();
        let (effects, dead) = (content.effects.len(), content.dead.len());
        self.tell(format_args!(
            "    {frames} frames wait, {effects} took effect, {dead} are dead"
        ));
        let policy = self.stage.policy;
        checks::check(&self.stage.book(), &content, &policy)?;
        Ok(frames > 0)
    }

    fn finish(&mut self) -> Result<(), Violation> {
        self.tell(format_args!("trouble stops"));
        self.stage.book().calm = true;
        self.stage.plan.disarm();
        for round in 0..PATIENCE {
            self.steps += 1;
            self.stage.clock.advance(700);
            for runner in 0..self.stage.runners() {
                self.stage.poll(runner, round % 2 == 0, 8);
            }
            if !self.look()? {
                break;
            }
        }
        let content = self.stage.content().map_err(|status| unreadable(&status))?;
        let policy = self.stage.policy;
        checks::check_end(&self.stage.book(), &content, &policy)?;
        if self.peaceful {
            checks::check_order(&self.stage.book(), &content)?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), Violation> {
        self.processes += 1;
        self.stage.book().preparing.clear();
        self.stage
            .open(self.processes)
            .map_err(|status| Violation::new("start", status.to_string()))
    }

    fn draw_script(&self) -> Script {
        if self.peaceful {
            return Script::PLAIN;
        }
        let rng = &mut self.stage.book().rng;
        let failures = *rng.pick(&[0, 0, 0, 0, 1, 1, 2, 9]);
        Script {
            failures,
            failing: Script::way(rng.index(3)),
            child: rng.percent(20),
        }
    }

    fn name(&mut self, worker: u64) -> String {
        self.names += 1;
        format!("{worker}-m{}", self.names)
    }

    fn tell(&mut self, what: std::fmt::Arguments<'_>) {
        let now = self.stage.now();
        self.trace.line(now.0, what);
    }
}

fn unreadable(status: &Status) -> Violation {
    Violation::new("readable", status.to_string())
}

fn failed_to_start(seed: u64, status: &Status) -> Outcome {
    Outcome {
        seed,
        steps: 0,
        faults: 0,
        hash: 0,
        violation: Some(Violation::new("start", status.to_string())),
        trace: Vec::new(),
    }
}
