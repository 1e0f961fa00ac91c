//! The bench channel, as the server's own does it: words become calls, and what became of them becomes words.

use kiln_control::jobs::{self, Assigned, Claim, Delivered, Directive, Holder, Output};
use kiln_control::outputs::Large;
use kiln_control::{Denied, jobs::Canceled};
use kiln_model::v0::{IterationOutput, JobOutput, LargeOutput, LargeText, TextKind};
use kiln_model::{Slot, Status, Trigger};
use kiln_store::sql::job::{self, Job};
use kiln_store::sql::lane;
use kiln_store::{Bell, Listener, Tx};

use super::lease::actor;
use super::{Server, Trouble, unexpected, uploads, was_rung};
use crate::note::Note;
use crate::wire::{Assignment, Down, Ending, LastWord, Up};

/// How long a `ready` waits for a job.
const POLL: i64 = 30_000;

#[derive(Debug)]
pub(super) struct Session {
    runner: i64,
    slot: Slot,
    state: State,
    /// `cancel` was said: until the runner has answered, what it says about its job is not answered.
    told_to_stop: bool,
}

#[derive(Debug)]
enum State {
    Idle,
    Polling {
        deadline: i64,
        bells: Listener,
        /// It lets another job go first, and does not hear its lanes.
        aside: bool,
    },
    Executing {
        job: Box<Job>,
        bell: Listener,
    },
}

/// What the server does about a connection.
pub(crate) type Said = (u64, Vec<Down>);

impl Server {
    /// A new connection of a runner; answers the older one that it supersedes.
    pub(crate) fn connect(&mut self, connection: u64, runner: i64, slot: Slot) -> Option<u64> {
        let session = Session {
            runner,
            slot,
            state: State::Idle,
            told_to_stop: false,
        };
        self.sessions.insert(connection, session);
        let older = self.newest.insert((runner, slot.number()), connection)?;
        self.sessions.remove(&older).map(|_| older)
    }

    pub(crate) fn disconnect(&mut self, connection: u64) {
        let Some(session) = self.sessions.remove(&connection) else {
            return;
        };
        let place = (session.runner, session.slot.number());
        if self.newest.get(&place) == Some(&connection) {
            self.newest.remove(&place);
        }
    }

    /// A runner's word. Nothing is said on a connection that was superseded.
    pub(crate) fn hear(
        &mut self,
        connection: u64,
        word: &Up,
        now: i64,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Down>, Trouble> {
        let Some(runner) = self.sessions.get(&connection).map(|session| session.runner) else {
            return Ok(Vec::new());
        };
        match word {
            Up::Ready => {
                self.tell_to_stop(connection, false);
                self.poll(connection, runner, now + POLL)?;
                self.claim_for(connection, runner, notes)
            }
            Up::Running => self.running(connection, runner, notes),
            Up::Heartbeat => match self.held(connection, runner)? {
                Some(job) => {
                    self.beat(job.id, job.life.epoch);
                    Ok(vec![Down::Ack(job.id)])
                }
                None => Ok(self.let_go(connection)),
            },
            Up::Upload(step) => {
                let progress = self.upload(runner, step)?;
                let job = step.of.job;
                Ok(vec![Down::Uploaded { job, progress }])
            }
            Up::Last(last) => {
                notes.push(Note::Word {
                    runner,
                    of: last.of.clone(),
                });
                self.delivered(runner, last, notes)?;
                let current = self.sessions.get(&connection).map(|session| &session.state);
                if matches!(current, Some(State::Executing { job, .. }) if job.id == last.of.job) {
                    self.enter(connection, State::Idle);
                }
                self.tell_to_stop(connection, false);
                Ok(vec![Down::Ack(last.of.job)])
            }
        }
    }

    /// Serves one connection that heard a bell or waited long enough; nothing when there is none.
    pub(crate) fn pump(
        &mut self,
        now: i64,
        notes: &mut Vec<Note>,
    ) -> Result<Option<Said>, Trouble> {
        let connections: Vec<u64> = self.sessions.keys().copied().collect();
        for connection in connections {
            let Some(session) = self.sessions.get_mut(&connection) else {
                continue;
            };
            let runner = session.runner;
            match &mut session.state {
                State::Idle => {}
                State::Polling {
                    deadline,
                    bells,
                    aside,
                } => {
                    if was_rung(bells) {
                        let (deadline, aside) = (*deadline, *aside);
                        if aside {
                            self.poll(connection, runner, deadline)?;
                        }
                        let said = self.claim_for(connection, runner, notes)?;
                        return Ok(Some((connection, said)));
                    }
                    if *deadline <= now {
                        self.enter(connection, State::Idle);
                        return Ok(Some((connection, vec![Down::NoJob])));
                    }
                }
                State::Executing { job, bell } => {
                    if was_rung(bell) {
                        let (id, epoch) = (job.id, job.life.epoch);
                        let said = self.look(connection, id, epoch)?;
                        return Ok(Some((connection, said)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Waits for the bells of its lanes and of the runner's other slots.
    fn poll(&mut self, connection: u64, runner: i64, deadline: i64) -> Result<(), Trouble> {
        let lanes = self.lanes(runner)?.into_iter().map(Bell::Lane);
        let bells = lanes.chain([Bell::Slots(runner)]);
        let polling = State::Polling {
            deadline,
            bells: self.store.bells.subscribe_to(bells),
            aside: false,
        };
        self.enter(connection, polling);
        Ok(())
    }

    /// Lets a job go first that does not fit now, and leaves the bells of its lanes to others. Nothing happens between the look and this,
    /// so one look is enough.
    fn step_aside(&mut self, connection: u64, runner: i64, job: i64) -> Result<(), Trouble> {
        let state = self.sessions.get(&connection).map(|session| &session.state);
        let Some(State::Polling { deadline, .. }) = state else {
            return Ok(());
        };
        let bells = [Bell::Slots(runner), Bell::Job(job)];
        let aside = State::Polling {
            deadline: *deadline,
            bells: self.store.bells.subscribe_to(bells),
            aside: true,
        };
        self.enter(connection, aside);
        for lane in self.lanes(runner)? {
            self.store.bells.ring(Bell::Lane(lane));
        }
        Ok(())
    }

    fn slot(&self, connection: u64) -> Slot {
        let session = self.sessions.get(&connection);
        session.map_or(Slot::WHOLE, |session| session.slot)
    }

    fn enter(&mut self, connection: u64, state: State) {
        if let Some(session) = self.sessions.get_mut(&connection) {
            session.state = state;
        }
    }

    fn tell_to_stop(&mut self, connection: u64, told: bool) {
        if let Some(session) = self.sessions.get_mut(&connection) {
            session.told_to_stop = told;
        }
    }

    fn stop(&mut self, connection: u64) -> Vec<Down> {
        self.enter(connection, State::Idle);
        self.tell_to_stop(connection, true);
        vec![Down::Cancel]
    }

    fn execute(&mut self, connection: u64, job: Job) {
        let bell = self.store.bells.subscribe(Bell::Job(job.id));
        let job = Box::new(job);
        self.enter(connection, State::Executing { job, bell });
    }

    /// The runner is idle: what it holds and never began is given to it again, or the next job is its.
    fn claim_for(
        &mut self,
        connection: u64,
        runner: i64,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Down>, Trouble> {
        let slot = self.slot(connection);
        let assigned = self.write(move |tx: &mut dyn Tx| {
            let claim = Claim {
                runner,
                slot,
                actor: &actor(runner),
                lease_id: None,
            };
            jobs::ready(tx, &claim)
        })?;
        let assigned = assigned.map_err(unexpected)?;
        match &assigned {
            Assigned::Again(job) => notes.push(Note::Heard {
                job: job.id,
                epoch: job.life.epoch,
                tick: self.now(),
            }),
            Assigned::New(job) => notes.push(claimed(runner, slot, Some(job.id))),
            Assigned::Nothing => notes.push(claimed(runner, slot, None)),
            Assigned::Aside(first) => {
                notes.push(claimed(runner, slot, None));
                self.step_aside(connection, runner, *first)?;
            }
        }
        let Some(job) = assigned.into_job() else {
            return Ok(Vec::new());
        };
        let assignment = Assignment {
            job: job.id,
            epoch: job.life.epoch,
            public_id: job.ask.public_id.clone(),
            lease_id: None,
        };
        self.execute(connection, job);
        Ok(vec![Down::Job(assignment)])
    }

    /// The job this connection executes; after a reconnect the runner's words tell that there is one.
    fn held(&mut self, connection: u64, runner: i64) -> Result<Option<Job>, Trouble> {
        let Some(session) = self.sessions.get(&connection) else {
            return Ok(None);
        };
        match &session.state {
            State::Executing { job, .. } => return Ok(Some((**job).clone())),
            State::Polling { .. } => return Ok(None),
            State::Idle if session.told_to_stop => return Ok(None),
            State::Idle => {}
        }
        let slot = session.slot;
        let held = self
            .store
            .reader
            .read(move |query| {
                let mut held = job::held_by(query, runner)?.into_iter();
                Ok::<_, Denied>(held.rfind(|job| slot.covers(job.life.slot)))
            })
            .wait()
            .map_err(unexpected)?;
        if let Some(job) = &held {
            self.execute(connection, job.clone());
        }
        Ok(held)
    }

    fn running(
        &mut self,
        connection: u64,
        runner: i64,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Down>, Trouble> {
        let Some(job) = self.held(connection, runner)? else {
            return Ok(self.let_go(connection));
        };
        let (id, epoch) = (job.id, job.life.epoch);
        let holder = Holder {
            runner,
            epoch: Some(epoch),
        };
        let started =
            self.write(move |tx: &mut dyn Tx| jobs::start(tx, id, holder, &actor(runner)))?;
        match started {
            Ok(Directive::Continue) => {
                notes.push(Note::Started { job: id, epoch });
                Ok(vec![Down::Ack(id)])
            }
            Ok(Directive::Stop) | Err(Denied::NotHolder) => Ok(self.stop(connection)),
            Err(denied) => Err(unexpected(denied)),
        }
    }

    fn delivered(
        &mut self,
        runner: i64,
        last: &LastWord,
        notes: &mut Vec<Note>,
    ) -> Result<(), Trouble> {
        let output = bench_output(last);
        let kept = output.clone();
        let ending = last.ending;
        let public_id = last.of.public_id.clone().unwrap_or_default();
        let outcome = self.write(move |tx: &mut dyn Tx| {
            let Some(found) = job::find_public(tx, &public_id)? else {
                return Ok(None);
            };
            let actor = actor(runner);
            let holder = Holder {
                runner,
                epoch: None,
            };
            match ending {
                Ending::Completed => {
                    jobs::complete(tx, found.id, holder, &output, &actor).map(Some)
                }
                Ending::Failed => {
                    jobs::fail(tx, found.id, holder, Some(&output), "it failed", &actor).map(Some)
                }
                Ending::Canceled => {
                    let _: Canceled = jobs::runner_canceled(tx, found.id, holder, None, &actor)?;
                    Ok(None)
                }
            }
        })?;
        match outcome {
            Ok(Some(Delivered::Accepted)) if ending == Ending::Completed => {
                notes.push(Note::Accepted {
                    job: last.of.job,
                    epoch: last.of.epoch,
                    digest: kept.digest().clone(),
                    body: kept.body().to_vec(),
                    uploaded: last.is_large.then(|| last.text.clone()),
                });
                Ok(())
            }
            Ok(_) | Err(Denied::NotHolder | Denied::NotFound(_)) => Ok(()),
            Err(denied) => Err(unexpected(denied)),
        }
    }

    /// Something about the job changed; if it was stopped, the runner hears it at once.
    fn look(&mut self, connection: u64, id: i64, epoch: i64) -> Result<Vec<Down>, Trouble> {
        let now = self
            .store
            .reader
            .read(move |query| Ok::<_, Denied>(job::find(query, id)?))
            .wait()
            .map_err(unexpected)?;
        let Some(now) = now else {
            return Err(Trouble::Unexpected(format!("job {id} is gone")));
        };
        if now.life.epoch == epoch && now.life.status.is_in_flight() {
            return Ok(Vec::new());
        }
        if may_still_deliver(&now) {
            self.disconnect(connection);
            return Ok(vec![Down::Closed]);
        }
        Ok(self.stop(connection))
    }

    /// The runner speaks of a job that it does not hold, or not any more: it is to let go of it. One that asks for work
    /// has let go already, and one that was told needs not be told twice.
    fn let_go(&mut self, connection: u64) -> Vec<Down> {
        let session = self.sessions.get(&connection);
        let knows = session.is_none_or(|session| {
            session.told_to_stop || matches!(session.state, State::Polling { .. })
        });
        if knows {
            return Vec::new();
        }
        self.stop(connection)
    }

    fn lanes(&self, runner: i64) -> Result<Vec<i64>, Trouble> {
        self.store
            .reader
            .read(move |query| Ok::<_, Denied>(lane::of_runner(query, runner)?))
            .wait()
            .map_err(unexpected)
    }
}

/// A job that was given up for lost takes its runner's real result all the same.
fn may_still_deliver(job: &Job) -> bool {
    let lost = job.life.cause.is_some_and(Trigger::is_lost_contact);
    job.life.status == Status::Failed && lost
}

fn claimed(runner: i64, slot: Slot, got: Option<i64>) -> Note {
    Note::Claim {
        runner,
        slot: slot.stored(),
        forgets: true,
        got,
    }
}

/// Of an output that was uploaded the message has only the beginning.
fn bench_output(last: &LastWord) -> Output {
    let large = last.is_large.then(|| {
        let size = last.text.len() as u64;
        Box::new(LargeOutput {
            digest: uploads::digest(&last.text),
            size,
            texts: vec![LargeText {
                iteration: 0,
                stream: TextKind::Stdout,
                path: None,
                start: 0,
                size,
            }],
        })
    });
    let shown = if last.is_large { "cut off" } else { &last.text };
    let output = JobOutput {
        results: vec![IterationOutput {
            stdout: Some(shown.to_owned()),
            ..IterationOutput::default()
        }],
        error: (last.ending == Ending::Failed).then(|| "it failed".to_owned()),
        large,
        ..JobOutput::default()
    };
    let large = output.large.as_deref().map(Large::from);
    let body = serde_json::to_vec(&output).expect("an output is plain data");
    Output::new(body).with_large(large)
}
