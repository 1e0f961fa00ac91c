//! The runner against a model of it that fits on a page: K1, K3, K5 and K7 on random histories.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use kiln_model::Millis;
use proptest::prelude::*;

use crate::memory::MemoryTx;
use crate::{
    InboxKey, Kind, Kv, MemoryKv, Message, MessageView, Policy, Runner, RunnerConfig, Slot, Status,
    Step, TimerKey, apply_only, dead_letters, inbox, mailbox, timers,
};

const WORKER: u64 = 7;
const BUDGET: u32 = 3;
const TTL: i64 = 1000;

#[derive(Clone, Debug)]
enum Operation {
    /// A message that fails so often before it succeeds.
    Send {
        failures: u8,
    },
    Arm {
        after: i64,
        failures: u8,
    },
    Cancel {
        nth: usize,
    },
    Advance {
        by: i64,
    },
    Poll {
        max: usize,
    },
    PollTimers {
        max: usize,
    },
    /// Another claims the first rows and is never heard of again.
    ClaimAndDie {
        rows: u64,
    },
    Replay {
        nth: usize,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (0..5u8).prop_map(|failures| Operation::Send { failures }),
        3 => (-50..400i64, 0..5u8).prop_map(|(after, failures)| Operation::Arm { after, failures }),
        1 => (0..6usize).prop_map(|nth| Operation::Cancel { nth }),
        2 => (0..700i64).prop_map(|by| Operation::Advance { by }),
        4 => (1..9usize).prop_map(|max| Operation::Poll { max }),
        3 => (1..9usize).prop_map(|max| Operation::PollTimers { max }),
        1 => (1..4u64).prop_map(|rows| Operation::ClaimAndDie { rows }),
        1 => (0..4usize).prop_map(|nth| Operation::Replay { nth }),
    ]
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    id: u32,
    failures: u32,
}

/// What the kernel should hold, and what the handler should have run.
#[derive(Debug, Default)]
struct Model {
    now: i64,
    next_id: u32,
    inbox: BTreeMap<u64, Frame>,
    leased_until: BTreeMap<u64, i64>,
    letters: BTreeMap<u64, Frame>,
    timers: BTreeMap<(i64, u64), Frame>,
    failed: BTreeMap<u32, u32>,
    ran: Vec<u32>,
}

impl Model {
    fn frame(&mut self, failures: u8) -> Frame {
        self.next_id += 1;
        Frame {
            id: self.next_id,
            failures: u32::from(failures),
        }
    }

    fn next_seq(&self) -> u64 {
        let last = |rows: &BTreeMap<u64, Frame>| rows.last_key_value().map(|(seq, _)| seq + 1);
        last(&self.inbox).max(last(&self.letters)).unwrap_or(0)
    }

    /// Runs a frame once. The answer is its count of failures, if it failed.
    fn run(&mut self, frame: &Frame) -> Option<u32> {
        self.ran.push(frame.id);
        let failed = self.failed.get(&frame.id).copied().unwrap_or(0);
        if failed >= frame.failures {
            self.failed.remove(&frame.id);
            return None;
        }
        self.failed.insert(frame.id, failed + 1);
        Some(failed + 1)
    }

    fn poll(&mut self, max: usize) {
        let mut budget = max;
        loop {
            let now = self.now;
            let free = |seq: &u64| self.leased_until.get(seq).is_none_or(|until| now > *until);
            let claimed: Vec<u64> = self
                .inbox
                .keys()
                .copied()
                .filter(free)
                .take(budget)
                .collect();
            if claimed.is_empty() {
                return;
            }
            budget -= claimed.len();
            for seq in claimed {
                let frame = self.inbox.remove(&seq).unwrap();
                self.leased_until.remove(&seq);
                match self.run(&frame) {
                    None => {}
                    Some(BUDGET) => {
                        self.failed.remove(&frame.id);
                        let at = if self.letters.contains_key(&seq) {
                            self.next_seq()
                        } else {
                            seq
                        };
                        self.letters.insert(at, frame);
                    }
                    Some(_) => {
                        let at = self.next_seq().max(seq + 1);
                        self.inbox.insert(at, frame);
                    }
                }
            }
        }
    }

    fn poll_timers(&mut self, max: usize) {
        let due = self
            .timers
            .keys()
            .copied()
            .filter(|(due, _)| *due <= self.now);
        for key in due.take(max).collect::<Vec<_>>() {
            let frame = self.timers.remove(&key).unwrap();
            match self.run(&frame) {
                None => {}
                Some(BUDGET) => {
                    self.failed.remove(&frame.id);
                    let at = self.next_seq();
                    self.letters.insert(at, frame);
                }
                Some(_) => drop(self.timers.insert(key, frame)),
            }
        }
    }
}

fn encode(frame: &Frame) -> Vec<u8> {
    let payload = frame.failures.to_le_bytes();
    Message::new(Kind::Command, 7, frame.id.to_le_bytes(), payload)
        .encode()
        .unwrap()
}

fn check(operations: &[Operation]) {
    let kv = MemoryKv::new();
    let ran = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&ran);
    let handler = apply_only(
        move |message: &MessageView<'_>, _: &mut MemoryTx, step: &mut Step| {
            notes
                .lock()
                .unwrap()
                .push(u32::from_le_bytes(message.id.try_into().unwrap()));
            let failures = u32::from_le_bytes(message.payload.try_into().unwrap());
            if step.attempt() <= failures {
                Err(Status::Busy)
            } else {
                Ok(())
            }
        },
    );
    let runner = Runner::boot(kv.clone(), Arc::new(handler), RunnerConfig::new(WORKER)).unwrap();
    let policy = Policy {
        retry_budget_max: BUDGET,
        lease_ttl_ms: TTL,
        ..Policy::DEFAULT
    };
    runner.set_policy(policy);
    let mut model = Model::default();
    for operation in operations {
        apply(&kv, &runner, &mut model, operation);
        assert_eq!(
            *ran.lock().unwrap(),
            model.ran,
            "what ran, after {operation:?}"
        );
        compare(&kv, &model, operation);
    }
}

fn apply(
    kv: &MemoryKv,
    runner: &Runner<MemoryKv, impl crate::Handler<MemoryTx>>,
    model: &mut Model,
    operation: &Operation,
) {
    let now = Millis(model.now);
    match *operation {
        Operation::Send { failures } => {
            let frame = model.frame(failures);
            let bytes = encode(&frame);
            let key = kv
                .write(move |tx| inbox::append(tx, WORKER, &bytes))
                .unwrap();
            assert_eq!(key.seq, model.next_seq());
            model.inbox.insert(key.seq, frame);
        }
        Operation::Arm { after, failures } => {
            let frame = model.frame(failures);
            let due = model.now + after - 100;
            let bytes = encode(&frame);
            let key = kv
                .write(move |tx| timers::arm(tx, Millis(due), &bytes))
                .unwrap();
            model.timers.insert((due, key.seq), frame);
        }
        Operation::Cancel { nth } => {
            let Some(key) = model.timers.keys().nth(nth).copied() else {
                return;
            };
            let timer = TimerKey::new(Millis(key.0), key.1);
            assert!(kv.write(move |tx| timers::cancel(tx, timer)).unwrap());
            let frame = model.timers.remove(&key).unwrap();
            model.failed.remove(&frame.id);
        }
        Operation::Advance { by } => model.now += by,
        Operation::Poll { max } => {
            runner.poll_inbox(max, &|| now);
            model.poll(max);
        }
        Operation::PollTimers { max } => {
            runner.poll_timers(max, &|| now);
            model.poll_timers(max);
        }
        Operation::ClaimAndDie { rows } => {
            for seq in model
                .inbox
                .keys()
                .copied()
                .take(usize::try_from(rows).unwrap())
            {
                let slot = Slot::Inbox(InboxKey::new(WORKER, seq));
                let claimed = kv.write(move |tx| mailbox::claim(tx, slot, 99, now, TTL));
                let free = model
                    .leased_until
                    .get(&seq)
                    .is_none_or(|until| model.now > *until);
                assert_eq!(claimed.is_ok(), free);
                if free {
                    model.leased_until.insert(seq, model.now + TTL);
                }
            }
        }
        Operation::Replay { nth } => {
            let Some(seq) = model.letters.keys().nth(nth).copied() else {
                return;
            };
            let key = InboxKey::new(WORKER, seq);
            let moved = kv
                .write(move |tx| dead_letters::replay_at_tail(tx, key))
                .unwrap();
            assert_eq!(moved.seq, model.next_seq());
            let frame = model.letters.remove(&seq).unwrap();
            model.inbox.insert(moved.seq, frame);
        }
    }
}

fn compare(kv: &MemoryKv, model: &Model, operation: &Operation) {
    let rows = kv.read(|tx| inbox::rows(tx, WORKER, 0, 999)).unwrap();
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(key, frame)| (key.seq, frame))
        .collect();
    let expected: Vec<_> = model
        .inbox
        .iter()
        .map(|(seq, frame)| (*seq, encode(frame)))
        .collect();
    assert_eq!(rows, expected, "the inbox, after {operation:?}");
    let letters = kv
        .read(|tx| dead_letters::list(tx, InboxKey::new(0, 0), 999))
        .unwrap();
    let letters: Vec<_> = letters
        .into_iter()
        .map(|(key, letter)| (key.seq, letter.frame))
        .collect();
    let expected: Vec<_> = model
        .letters
        .iter()
        .map(|(seq, frame)| (*seq, encode(frame)))
        .collect();
    assert_eq!(letters, expected, "the dead letters, after {operation:?}");
    let timers = kv.read(|tx| timers::due(tx, Millis::MAX, 999)).unwrap();
    let timers: Vec<_> = timers
        .into_iter()
        .map(|(key, frame)| ((key.due.0, key.seq), frame))
        .collect();
    let expected: Vec<_> = model
        .timers
        .iter()
        .map(|(key, frame)| (*key, encode(frame)))
        .collect();
    assert_eq!(timers, expected, "the timers, after {operation:?}");
}

proptest! {
    #[test]
    fn every_history_goes_as_the_model_says(
        operations in prop::collection::vec(operation(), 1..80),
    ) {
        check(&operations);
    }
}
