//! The bench channel, as the server's own does it: words become calls, and what became of them becomes words.

use kiln_control::jobs::{self, Claim, Delivered, Directive, Holder, Output};
use kiln_control::{Denied, jobs::Canceled};
use kiln_model::v0::{IterationOutput, JobOutput};
use kiln_model::{Status, Trigger};
use kiln_store::sql::job::{self, Job};
use kiln_store::sql::lane;
use kiln_store::{Bell, Listener, Tx, params};

use super::lease::actor;
use super::{Server, Trouble, unexpected, was_rung};
use crate::note::Note;
use crate::wire::{Assignment, Down, Ending, LastWord, Up};

/// How long a `ready` waits for a job.
const POLL: i64 = 30_000;

#[derive(Debug)]
pub(super) struct Session {
    runner: i64,
    state: State,
}

#[derive(Debug)]
enum State {
    Idle,
    Polling { deadline: i64, bells: Listener },
    Executing { job: Box<Job>, bell: Listener },
}

/// What the server does about a connection.
pub(crate) type Said = (u64, Vec<Down>);

impl Server {
    /// A new connection of a runner; answers the older one that it supersedes.
    pub(crate) fn connect(&mut self, connection: u64, runner: i64) -> Option<u64> {
        let session = Session {
            runner,
            state: State::Idle,
        };
        self.sessions.insert(connection, session);
        let older = self.newest.insert(runner, connection)?;
        self.sessions.remove(&older).map(|_| older)
    }

    pub(crate) fn disconnect(&mut self, connection: u64) {
        if let Some(session) = self.sessions.remove(&connection)
            && self.newest.get(&session.runner) == Some(&connection)
        {
            self.newest.remove(&session.runner);
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
                let lanes = self.lanes(runner)?;
                let bells = self
                    .store
                    .bells
                    .subscribe_to(lanes.into_iter().map(Bell::Lane));
                let deadline = now + POLL;
                self.enter(connection, State::Polling { deadline, bells });
                self.claim_for(connection, runner, notes)
            }
            Up::Running => self.running(connection, runner, notes),
            Up::Heartbeat => match self.held(connection, runner)? {
                Some(job) => {
                    self.beat(job.id, job.life.epoch);
                    Ok(vec![Down::Ack(job.id)])
                }
                None => self.speaks_of_the_past(runner),
            },
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
                State::Polling { deadline, bells } => {
                    if was_rung(bells) {
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

    fn enter(&mut self, connection: u64, state: State) {
        if let Some(session) = self.sessions.get_mut(&connection) {
            session.state = state;
        }
    }

    fn execute(&mut self, connection: u64, job: Job) {
        let bell = self.store.bells.subscribe(Bell::Job(job.id));
        let job = Box::new(job);
        self.enter(connection, State::Executing { job, bell });
    }

    /// The runner is idle: what it held is forgotten, and the next job is its, in one transaction.
    fn claim_for(
        &mut self,
        connection: u64,
        runner: i64,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Down>, Trouble> {
        let claimed = self.write(move |tx: &mut dyn Tx| {
            let actor = actor(runner);
            jobs::forget(tx, runner, &actor)?;
            let claim = Claim {
                runner,
                actor: &actor,
                lease_id: None,
            };
            jobs::claim(tx, &claim)
        })?;
        let claimed = claimed.map_err(unexpected)?;
        notes.push(Note::Claim {
            runner,
            forgets: true,
            got: claimed.as_ref().map(|job| job.id),
        });
        let Some(job) = claimed else {
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
        let state = self.sessions.get(&connection).map(|session| &session.state);
        if let Some(State::Executing { job, .. }) = state {
            return Ok(Some((**job).clone()));
        }
        let held = self
            .store
            .reader
            .read(move |query| Ok::<_, Denied>(job::held_by(query, runner)?.pop()))
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
            return self.speaks_of_the_past(runner);
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
            Ok(Directive::Stop) => {
                self.enter(connection, State::Idle);
                Ok(vec![Down::Cancel])
            }
            Err(Denied::Ended(_) | Denied::NotHolder) => Ok(vec![Down::Ack(id)]),
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
                    let _: Canceled = jobs::runner_canceled(tx, found.id, holder, &actor)?;
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
        self.enter(connection, State::Idle);
        if may_still_deliver(&now) {
            self.disconnect(connection);
            return Ok(vec![Down::Closed]);
        }
        Ok(vec![Down::Cancel])
    }

    /// The runner works on a job that it does not hold any more. It is told to stop, unless its result would still count.
    fn speaks_of_the_past(&self, runner: i64) -> Result<Vec<Down>, Trouble> {
        let last = self
            .store
            .reader
            .read(move |query| {
                let row = query.query_one(
                    "SELECT id FROM job WHERE runner_id = ?1 ORDER BY claimed_tick DESC, id DESC LIMIT 1",
                    params![runner],
                )?;
                match row {
                    Some(row) => Ok::<_, Denied>(job::find(query, row.get(0)?)?),
                    None => Ok(None),
                }
            })
            .wait()
            .map_err(unexpected)?;
        Ok(match last {
            Some(job) if may_still_deliver(&job) => vec![Down::Ack(job.id)],
            Some(_) => vec![Down::Cancel],
            None => Vec::new(),
        })
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

fn bench_output(last: &LastWord) -> Output {
    let output = JobOutput {
        results: vec![IterationOutput {
            stdout: Some(last.text.clone()),
            ..IterationOutput::default()
        }],
        error: (last.ending == Ending::Failed).then(|| "it failed".to_owned()),
        ..JobOutput::default()
    };
    Output::new(serde_json::to_vec(&output).expect("an output is plain data"))
}
