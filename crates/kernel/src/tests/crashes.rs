//! K2 at every commit: a process that dies at any of them, and another that goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kiln_model::Millis;

use crate::memory::MemoryTx;
use crate::{
    Dbi, Handler, Kind, Kv, KvTx, MemoryKv, Message, MessageView, Runner, RunnerConfig, Status,
    Step, apply_only, inbox, timers,
};

/// A store that is gone after a number of commits: the next one, and all that follow, do not happen.
#[derive(Clone, Debug)]
pub(super) struct Mortal {
    kv: MemoryKv,
    commits_left: Arc<AtomicUsize>,
}

impl Mortal {
    pub(super) fn new(kv: &MemoryKv, commits: usize) -> Self {
        Self {
            kv: kv.clone(),
            commits_left: Arc::new(AtomicUsize::new(commits)),
        }
    }
}

impl Kv for Mortal {
    type Tx = MemoryTx;

    fn write<R, F>(&self, mut body: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnMut(&mut MemoryTx) -> Result<R, Status> + Send + 'static,
    {
        let commits = Arc::clone(&self.commits_left);
        self.kv.write(move |tx| {
            let answer = body(tx)?;
            match commits.load(Ordering::Relaxed) {
                0 => Err(Status::Store("the process is gone".into())),
                left => {
                    commits.store(left - 1, Ordering::Relaxed);
                    Ok(answer)
                }
            }
        })
    }

    fn read<R, F>(&self, body: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnMut(&mut MemoryTx) -> Result<R, Status> + Send + 'static,
    {
        self.kv.read(body)
    }
}

/// Counts how often each message had its effect, and emits as often.
fn counting() -> Arc<impl Handler<MemoryTx>> {
    Arc::new(apply_only(
        |message: &MessageView<'_>, tx: &mut MemoryTx, step: &mut Step| {
            if message.id.starts_with(b"flaky") && step.attempt() == 1 {
                return Err(Status::Conflict);
            }
            let count = tx.get(Dbi(7), message.id)?.map_or(0, |count| count[0]);
            tx.put(Dbi(7), message.id, &[count + 1])?;
            step.emit(message)
        },
    ))
}

/// Runs the work with a death after `commits` commits and a second life without one. Answers whether everything had
/// exactly one effect.
pub(super) fn each_effect_once(commits: usize) -> bool {
    let kv = MemoryKv::new();
    kv.write(|tx| {
        for id in ["a", "flaky", "b"] {
            inbox::send(tx, &Message::new(Kind::Command, 7, id, "").view())?;
        }
        let timer = Message::new(Kind::Timer, 7, "timer", "").encode()?;
        timers::arm(tx, Millis(5), &timer).map(drop)
    })
    .unwrap();
    let live = |kv: Mortal, now: i64| {
        let Ok(runner) = Runner::boot(kv, counting(), RunnerConfig::new(7)) else {
            return;
        };
        for _ in 0..4 {
            runner.poll_inbox(8, &|| Millis(now));
            runner.poll_timers(8, &|| Millis(now));
        }
    };
    live(Mortal::new(&kv, commits), 10);
    live(Mortal::new(&kv, usize::MAX), 10_000);
    let effects = kv.read(|tx| tx.scan(Dbi(7), &[], None, 99)).unwrap();
    let emitted = kv.read(|tx| tx.scan(Dbi::OUTBOX, &[], None, 99)).unwrap();
    effects.len() == 4 && effects.iter().all(|(_, count)| count == &[1]) && emitted.len() == 4
}

#[test]
fn a_death_at_any_commit_loses_and_doubles_nothing() {
    for commits in 0..12 {
        assert!(each_effect_once(commits), "after {commits} commits");
    }
}
