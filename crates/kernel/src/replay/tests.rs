use std::sync::{Arc, Mutex};

use kiln_model::Millis;

use super::*;
use crate::memory::MemoryTx;
use crate::{
    Dbi, Handler, Kind, Kv, KvTx, MemoryKv, Message, MessageView, Policy, Runner, RunnerConfig,
    Status, Step, apply_only, inbox, timers,
};

const WORKER: u64 = 7;

fn send(kv: &MemoryKv, id: &'static str) {
    let message = Message::new(Kind::Command, 7, id, "");
    kv.write(move |tx| inbox::send(tx, &message.view()).map(drop))
        .unwrap();
}

/// Writes, emits, arms, and fails twice for ids that say so.
fn business(version: u8) -> impl Handler<MemoryTx, Prepared = ()> {
    apply_only(
        move |message: &MessageView<'_>, tx: &mut MemoryTx, step: &mut Step| {
            if message.id.starts_with(b"flaky") && step.attempt() < 3 {
                return Err(Status::Conflict);
            }
            let at = step.now().0.to_le_bytes();
            tx.put(Dbi(7), message.id, &[&at[..], &[version]].concat())?;
            step.emit(&Message::new(Kind::Event, 1, message.id, "done").view())?;
            if message.kind == Kind::Command {
                let later = Message::new(Kind::Timer, 7, [message.id, b"!"].concat(), "");
                step.arm(Millis(step.now().0 + 5), &later.view())?;
            }
            Ok(())
        },
    )
}

fn recorded(runner: &Runner<MemoryKv, impl Handler<MemoryTx>>) -> Arc<Mutex<Vec<u8>>> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let out = Arc::clone(&log);
    let recorder = Recorder::new(move |bytes| out.lock().unwrap().extend_from_slice(bytes));
    runner.set_step_sink(Some(recorder.sink()));
    log
}

/// Runs a small day of work; answers the store as it was before, and the log.
fn a_day() -> (MemoryKv, Vec<u8>) {
    let kv = MemoryKv::new();
    send(&kv, "one");
    send(&kv, "flaky");
    let before = MemoryKv::from_checkpoint(&kv.checkpoint());
    let runner =
        Runner::boot(kv.clone(), Arc::new(business(1)), RunnerConfig::new(WORKER)).unwrap();
    let log = recorded(&runner);
    runner.poll_inbox(3, &|| Millis(10));
    // From outside, between the first failure of `flaky` and its next attempt.
    send(&kv, "two");
    runner.poll_inbox(64, &|| Millis(11));
    runner.poll_timers(64, &|| Millis(20));
    let log = log.lock().unwrap().clone();
    (before, log)
}

fn again(kv: &MemoryKv, version: u8, log: &[u8]) -> Replayed {
    let handler = Arc::new(business(version));
    replay(
        kv,
        &handler,
        &RunnerConfig::new(WORKER),
        Policy::DEFAULT,
        log,
    )
    .unwrap()
}

#[test]
fn the_same_code_does_the_same() {
    let (before, log) = a_day();
    let steps = LogReader::new(&log).unwrap().count() as u64;
    assert_eq!(steps, 8);
    assert_eq!(
        again(&before, 1, &log),
        Replayed {
            steps,
            ..Replayed::default()
        }
    );
}

#[test]
fn the_same_day_gives_the_same_bytes() {
    assert_eq!(a_day().1, a_day().1);
}

#[test]
fn other_code_is_caught_at_the_first_step_that_differs() {
    let (before, log) = a_day();
    let divergence = again(&before, 2, &log).divergence.unwrap();
    assert_eq!((divergence.step, divergence.what), (1, "changes"));
}

#[test]
fn a_failure_that_no_longer_happens_is_named() {
    let (before, log) = a_day();
    let fixed = Arc::new(apply_only(
        |message: &MessageView<'_>, tx: &mut MemoryTx, step: &mut Step| {
            tx.put(
                Dbi(7),
                message.id,
                &[&step.now().0.to_le_bytes()[..], &[1]].concat(),
            )?;
            step.emit(&Message::new(Kind::Event, 1, message.id, "done").view())?;
            let later = Message::new(Kind::Timer, 7, [message.id, b"!"].concat(), "");
            step.arm(Millis(step.now().0 + 5), &later.view())
        },
    ));
    let replayed = replay(
        &before,
        &fixed,
        &RunnerConfig::new(WORKER),
        Policy::DEFAULT,
        &log,
    )
    .unwrap();
    let told = replayed.divergence.unwrap().to_string();
    assert_eq!(told, "step 2: result was 7 and is now 0");
}

#[test]
fn a_torn_tail_is_reported_and_what_came_before_is_replayed() {
    let (before, log) = a_day();
    let whole: Vec<usize> = {
        let mut reader = LogReader::new(&log).unwrap();
        std::iter::from_fn(|| reader.next().map(|_| reader.position())).collect()
    };
    let last_start = whole[whole.len() - 2];
    for cut in [last_start + 1, last_start + 50, log.len() - 1] {
        let replayed = again(
            &MemoryKv::from_checkpoint(&before.checkpoint()),
            1,
            &log[..cut],
        );
        assert_eq!(replayed.steps, 7, "cut at {cut}");
        assert_eq!(
            replayed.log,
            Some(LogError::Torn { at: last_start }),
            "cut at {cut}"
        );
        assert_eq!(replayed.divergence, None);
    }
}

#[test]
fn every_flipped_byte_is_found() {
    let (_, log) = a_day();
    for at in 0..log.len() {
        let mut damaged = log.clone();
        damaged[at] ^= 0x40;
        let noticed = match LogReader::new(&damaged) {
            Err(_) => true,
            Ok(reader) => reader.into_iter().any(|record| record.is_err()),
        };
        assert!(noticed, "a flip at byte {at} went unnoticed");
    }
}

#[test]
fn a_log_that_is_none_is_refused() {
    assert_eq!(
        LogReader::new(b"KRL1\x01\0\0\0").unwrap_err(),
        LogError::Foreign
    );
    assert_eq!(
        LogReader::new(b"KRL0\x02\0\0\0").unwrap_err(),
        LogError::Foreign
    );
    assert_eq!(
        LogReader::new(b"KRL").unwrap_err(),
        LogError::Torn { at: 0 }
    );
}

#[test]
fn timers_armed_elsewhere_are_found_again() {
    let (before, log) = a_day();
    // Another timer of the same due time shifts the sequences that the replay hands out.
    let message = Message::new(Kind::Timer, 9, "foreign", "")
        .encode()
        .unwrap();
    before
        .write(move |tx| timers::arm(tx, Millis(15), &message).map(drop))
        .unwrap();
    assert_eq!(again(&before, 1, &log).divergence, None);
}
