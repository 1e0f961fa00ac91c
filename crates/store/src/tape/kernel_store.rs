//! The store as the kernel's worker sees it: live, being recorded, or played back.

use std::sync::{Arc, Mutex, PoisonError};

use kiln_kernel::{Kv, Status, StepRecord};
use kiln_model::Millis;
use serde::Serialize;

use super::entry::{Entry, Outside, Run, Told, Transaction};
use super::played::Played;
use super::{Player, Recorder, Transcript};
use crate::ledger::status;
use crate::{Error, Ledger, Pending, Tx};

/// Everything a worker may ask. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KernelStore {
    side: Side,
}

#[derive(Clone, Debug)]
enum Side {
    Live(Ledger),
    Recording(Ledger, Recorder),
    Playing(Player),
}

impl KernelStore {
    pub fn live(ledger: Ledger) -> Self {
        Self {
            side: Side::Live(ledger),
        }
    }

    /// One thread at a time: a recording is one line of events.
    pub fn recording(ledger: Ledger, recorder: Recorder) -> Self {
        Self {
            side: Side::Recording(ledger, recorder),
        }
    }

    pub fn playing(player: Player) -> Self {
        Self {
            side: Side::Playing(player),
        }
    }

    /// Kernel time.
    pub fn now(&self) -> Millis {
        match &self.side {
            Side::Live(ledger) => ledger.now(),
            Side::Recording(ledger, recorder) => {
                let now = ledger.now();
                recorder.write(Entry::Clock(now));
                now
            }
            Side::Playing(player) => player.clock(),
        }
    }

    /// Does something outside the database whose outcome the worker depends on. A replay does not do it again, but gives
    /// the outcome that it had.
    pub fn outside(
        &self,
        what: &str,
        asked: &impl Serialize,
        act: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let asked = || serde_json::to_value(asked).expect("what is asked is plain data");
        match &self.side {
            Side::Live(_) => act(),
            Side::Recording(_, recorder) => {
                let outcome = act();
                recorder.write(Entry::Outside(Outside {
                    what: what.to_owned(),
                    asked: asked(),
                    failed: outcome.clone().err(),
                }));
                outcome
            }
            Side::Playing(player) => match player.outside(what, &asked()) {
                Some(Outside { failed: None, .. }) => Ok(()),
                Some(Outside {
                    failed: Some(error),
                    ..
                }) => Err(error),
                None => Err(Error::Closed),
            },
        }
    }

    /// Told after each step, so that a replay can say how far it came and compare what became of the frame.
    pub fn step(&self, step: &StepRecord<'_>) {
        match &self.side {
            Side::Live(_) => {}
            Side::Recording(_, recorder) => recorder.write(Entry::Step(Told::from(step))),
            Side::Playing(player) => player.step(&Told::from(step)),
        }
    }
}

impl Kv for KernelStore {
    type Tx = dyn Tx;

    fn write<R, F>(&self, body: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnMut(&mut (dyn Tx + 'static)) -> Result<R, Status> + Send + 'static,
    {
        match &self.side {
            Side::Live(ledger) => ledger.write(body),
            Side::Recording(ledger, recorder) => {
                record(recorder, true, body, |body| ledger.submit_static(body))
            }
            Side::Playing(player) => play(player, true, body),
        }
    }

    fn read<R, F>(&self, body: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnMut(&mut (dyn Tx + 'static)) -> Result<R, Status> + Send + 'static,
    {
        match &self.side {
            Side::Live(ledger) => ledger.read(body),
            Side::Recording(ledger, recorder) => record(recorder, false, body, |body| {
                ledger.reader().read_static(body)
            }),
            Side::Playing(player) => play(player, false, body),
        }
    }
}

/// Whose fault it is that nothing was committed.
enum Refused {
    ByTheClosure(Status),
    ByTheStore(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::ByTheStore(error)
    }
}

type Body<R> = Box<dyn FnMut(&mut (dyn Tx + 'static)) -> Result<R, Refused> + Send>;

fn record<R, F>(
    recorder: &Recorder,
    write: bool,
    mut body: F,
    run: impl FnOnce(Body<R>) -> Pending<R, Refused>,
) -> Result<R, Status>
where
    R: Send + 'static,
    F: FnMut(&mut (dyn Tx + 'static)) -> Result<R, Status> + Send + 'static,
{
    let last_run = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&last_run);
    let heard = move |tx: &mut (dyn Tx + 'static)| {
        *tx.transcript() = Some(Transcript::default());
        let answer = body(tx).map_err(Refused::ByTheClosure);
        let calls = tx.transcript().take().unwrap_or_default().calls;
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(Run {
            now: tx.now(),
            wall: tx.wall(),
            calls,
        });
        answer
    };
    let answer = run(Box::new(heard)).wait();
    recorder.write(Entry::Transaction(Transaction {
        write,
        run: last_run
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(),
        lost: match &answer {
            Err(Refused::ByTheStore(error)) => Some(error.clone()),
            Ok(_) | Err(Refused::ByTheClosure(_)) => None,
        },
    }));
    answer.map_err(|refused| match refused {
        Refused::ByTheClosure(status) => status,
        Refused::ByTheStore(error) => status(error),
    })
}

fn play<R, F>(player: &Player, write: bool, mut body: F) -> Result<R, Status>
where
    F: FnMut(&mut (dyn Tx + 'static)) -> Result<R, Status>,
{
    let recorded = player.transaction(write).ok_or_else(over)?;
    let answer = recorded.run.map(|run| {
        let mut played = Played::new(player.clone(), run);
        let answer = body(&mut played);
        played.finish();
        answer
    });
    match recorded.lost {
        Some(error) => Err(status(error)),
        None => answer.unwrap_or_else(|| Err(over())),
    }
}

fn over() -> Status {
    Status::Store("the recording ends here".to_owned())
}
