//! The attempt engine, and attempts as handlers.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kiln_model::Millis;

use super::stage::{frame, get, lock, put, rows};
use crate::attempt::{Attempt, AttemptHandler, AttemptPolicy, AttemptStats, run};
use crate::intents::{Published, Sink};
use crate::{Dbi, Kind, Kv, KvTx, Message, MessageView, Runner, RunnerConfig, Status};

const APP: Dbi = Dbi(7);
const SINK: Sink = Sink {
    outbox_floor: 100,
    timer_floor: 0,
};

type Ran = (AttemptStats, Result<Vec<Published>, Status>, Vec<Duration>);

fn attempt<K: Kv>(
    kv: &K,
    max_retries: u32,
    body: impl Fn(&mut Attempt<'_, K::Tx>) -> Result<(), Status> + Send + Sync + 'static,
) -> Ran {
    let sleeps = Mutex::new(Vec::new());
    let policy = AttemptPolicy {
        max_retries,
        ..AttemptPolicy::DEFAULT
    };
    let (stats, answer) = run(kv, policy, SINK, &|span| lock(&sleeps).push(span), body);
    let sleeps = lock(&sleeps).clone();
    (stats, answer, sleeps)
}

fn event(id: &str) -> Message {
    Message::new(Kind::Event, 1, id, "")
}

pub fn an_undisturbed_attempt_commits_state_and_intents_at_once<K: Kv>(kv: &K) {
    let (stats, answer, sleeps) = attempt(kv, 3, |attempt| {
        assert_eq!(attempt.get(APP, b"a")?, None);
        attempt.put(APP, b"a", b"1");
        assert_eq!(attempt.get(APP, b"a")?, Some(b"1".to_vec()));
        attempt.emit(&event("m1").view())
    });
    assert_eq!(answer, Ok(vec![Published::Outbox(100)]));
    assert_eq!(
        stats,
        AttemptStats {
            attempts: 1,
            ..AttemptStats::default()
        }
    );
    assert!(sleeps.is_empty());
    assert_eq!(get(kv, APP, b"a"), Some(b"1".to_vec()));
    assert_eq!(rows(kv, Dbi::OUTBOX).len(), 1);
}

/// Another writes what the first attempt read; the second attempt sees it.
pub fn a_conflict_makes_a_second_attempt<K: Kv>(kv: &K) {
    let runs = Arc::new(AtomicU32::new(0));
    let (stats, answer, sleeps) = attempt(kv, 3, move |attempt| {
        // Stands for somebody else's write between snapshot and commit: the first run reads something that is not so.
        if runs.fetch_add(1, Ordering::Relaxed) == 0 {
            return Err(Status::Conflict);
        }
        attempt.put(APP, b"a", b"1");
        attempt.emit(&event("m1").view())
    });
    assert!(answer.is_ok());
    let expected = AttemptStats {
        attempts: 2,
        retries: 1,
        conflict_retries: 1,
        ..AttemptStats::default()
    };
    assert_eq!(stats, expected);
    assert_eq!(sleeps, [Duration::from_micros(250)]);
    assert_eq!(rows(kv, Dbi::OUTBOX).len(), 1);
}

pub fn attempts_end_when_their_retries_are_spent<K: Kv>(kv: &K) {
    let (stats, answer, sleeps) = attempt(kv, 2, |attempt| {
        attempt.put(APP, b"a", b"1");
        Err(Status::Conflict)
    });
    assert_eq!(answer, Err(Status::Conflict));
    assert_eq!(
        (stats.attempts, stats.last_code),
        (3, Status::Conflict.code())
    );
    assert_eq!(
        sleeps,
        [Duration::from_micros(250), Duration::from_micros(500)]
    );
    assert!(rows(kv, APP).is_empty());
    let (stats, answer, _) = attempt(kv, 2, |_| Err(Status::Full));
    assert_eq!((stats.attempts, answer), (1, Err(Status::Full)));
}

/// A value that is too large is refused by the store after intents would have been published: nothing of it stays.
pub fn a_commit_that_fails_publishes_no_intent<K: Kv>(kv: &K) {
    let (_, answer, _) = attempt(kv, 0, |attempt| {
        attempt.emit(&event("m1").view())?;
        attempt.put(APP, b"a", &vec![0; crate::kv::MAX_VALUE + 1]);
        Ok(())
    });
    assert_eq!(answer, Err(Status::Full));
    assert!(rows(kv, Dbi::OUTBOX).is_empty());
}

pub fn an_aborted_branch_of_an_attempt_is_invisible<K: Kv>(kv: &K) {
    let (_, answer, _) = attempt(kv, 0, |attempt| {
        attempt.push();
        attempt.put(APP, b"kept", b"1");
        attempt.emit(&event("kept").view())?;
        attempt.commit_top()?;
        attempt.push();
        attempt.put(APP, b"dropped", b"1");
        attempt.emit(&event("dropped").view())?;
        attempt.arm(Millis(5), &event("dropped").view())?;
        attempt.abort_top()
    });
    assert_eq!(answer, Ok(vec![Published::Outbox(100)]));
    let keys: Vec<_> = rows(kv, APP).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [b"kept"]);
    let (_, answer, _) = attempt(kv, 0, |attempt| {
        attempt.push();
        Ok(())
    });
    assert_eq!(answer, Err(Status::Busy));
}

/// The handler's snapshot is out of date when it commits, because its first half itself wrote elsewhere.
pub fn an_attempt_as_handler_commits_with_its_message<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let handler = AttemptHandler::new(
        kv.clone(),
        move |message: &MessageView<'_>, attempt: &mut Attempt<'_, K::Tx>| {
            counted.fetch_add(1, Ordering::Relaxed);
            let count = attempt.get(APP, b"count")?.map_or(0, |count| count[0]);
            attempt.put(APP, b"count", &[count + 1]);
            attempt.emit(&event(&String::from_utf8_lossy(message.id)).view())
        },
    );
    let runner = Runner::boot(kv.clone(), Arc::new(handler), RunnerConfig::new(7)).unwrap();
    put(kv, 2, frame("m2"));
    // Both are prepared on the same snapshot, so the second finds its read changed and runs again.
    assert_eq!(runner.poll_inbox(8, &|| Millis(0)).processed, 2);
    assert_eq!(runs.load(Ordering::Relaxed), 3);
    assert_eq!(get(kv, APP, b"count"), Some(vec![2]));
    assert_eq!(rows(kv, Dbi::OUTBOX).len(), 2);
    assert!(rows(kv, Dbi::INBOX).is_empty());
}

pub fn a_conflicting_read_is_found_at_the_commit<K: Kv>(kv: &K) {
    let stack = kv
        .read(|tx| {
            let mut stack = crate::attempt::Stack::new();
            stack.get(tx, APP, b"a")?;
            stack.put(APP, b"b", b"1");
            Ok(stack)
        })
        .unwrap();
    kv.write(|tx| tx.put(APP, b"a", b"someone else's")).unwrap();
    let refused = kv.write(move |tx| {
        stack.validate(tx)?;
        stack.apply(tx)
    });
    assert_eq!(refused, Err(Status::Conflict));
    assert_eq!(get(kv, APP, b"b"), None);
}
