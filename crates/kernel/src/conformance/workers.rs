//! The worker shell: ticks, idle sleep, threads, gate, lease renewal.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use kiln_model::Millis;

use super::stage::{
    ManualTime, Script, Stage, Told, WORKER, arm, frame, inbox_seqs, other_runner, put, rows,
    worker,
};
use crate::policy::Policy;
use crate::runner::{Polled, State};
use crate::{
    Dbi, Gate, InboxKey, Kind, Kv, KvTx, Message, OnError, Slot, Status, Time, Worker,
    WorkerConfig, inbox, mailbox,
};

pub fn a_failed_tick_is_logged_and_remembered<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let script = Script::fails_once(Status::Full);
    let worker = worker(kv, &script, &ManualTime::at(0), 8);
    let told = Arc::new(Told::default());
    told.listen(worker.runner());
    assert_eq!(worker.tick().failure, Some(Status::Full));
    let kinds: Vec<_> = told.log().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [1, 2, 4]);
    assert_eq!(
        (worker.last_error(), worker.ticks()),
        (Some(Status::Full), 0)
    );
    assert_eq!(
        worker.tick(),
        Polled {
            processed: 1,
            failure: None
        }
    );
    assert_eq!(
        (worker.last_error(), worker.ticks()),
        (Some(Status::Full), 1)
    );
}

pub fn transient_failures_become_busy_without_a_word<K: Kv>(kv: &K) {
    put(kv, 1, super::stage::frame_to(8, "misrouted"));
    let worker = worker(kv, &Script::succeeds(), &ManualTime::at(0), 8);
    assert_eq!(worker.tick().failure, Some(Status::Busy));
    assert_eq!(worker.last_error(), None);
}

pub fn a_stopped_worker_is_busy<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let worker = worker(kv, &Script::succeeds(), &ManualTime::at(0), 8);
    worker.request_stop();
    assert_eq!(
        worker.tick(),
        Polled {
            processed: 0,
            failure: Some(Status::Busy)
        }
    );
    assert_eq!(inbox_seqs(kv), [1]);
    worker.shutdown();
    assert_eq!(worker.runner().state(), State::Stopped);
}

pub fn a_tick_runs_the_inbox_and_then_due_timers<K: Kv>(kv: &K) {
    arm(kv, 100, 0, frame("timer"));
    arm(kv, 101, 0, frame("later"));
    put(kv, 1, frame("row"));
    let script = Script::succeeds();
    let worker = worker(kv, &script, &ManualTime::at(100), 8);
    assert_eq!(
        worker.tick(),
        Polled {
            processed: 2,
            failure: None
        }
    );
    assert_eq!(script.calls(), ["row", "timer"]);
}

/// The original never comes to its timers while the inbox is full.
pub fn a_full_inbox_does_not_starve_the_timers<K: Kv>(kv: &K) {
    for seq in 0..6 {
        put(kv, seq, frame(&format!("row{seq}")));
    }
    arm(kv, 100, 0, frame("timer"));
    let script = Script::succeeds();
    let worker = worker(kv, &script, &ManualTime::at(100), 2);
    worker.tick();
    worker.tick();
    assert_eq!(script.calls(), ["row0", "row1", "timer", "row2"]);
}

pub fn the_injected_clock_expires_a_foreign_lease<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let slot = Slot::Inbox(InboxKey::new(WORKER, 1));
    kv.write(move |tx| mailbox::claim(tx, slot, 99, Millis(0), 1000))
        .unwrap();
    let time = ManualTime::at(1000);
    let worker = worker(kv, &Script::succeeds(), &time, 8);
    assert_eq!(worker.tick().processed, 0);
    time.set(1001);
    assert_eq!(worker.tick().processed, 1);
}

pub fn idle_sleep_ends_at_the_next_timer<K: Kv>(kv: &K) {
    let time = ManualTime::at(1000);
    let worker = worker(kv, &Script::succeeds(), &time, 8);
    let sleep = || worker.idle_sleep().unwrap();
    assert_eq!(sleep(), Duration::from_millis(1));
    worker.set_idle_policy(25);
    assert_eq!(sleep(), Duration::from_millis(25));
    arm(kv, 1050, 0, frame("m1"));
    assert_eq!(sleep(), Duration::from_millis(25));
    time.set(1045);
    assert_eq!(sleep(), Duration::from_millis(5));
    time.set(1051);
    assert_eq!(sleep(), Duration::ZERO);
}

pub fn a_worker_thread_starts_works_stops_and_joins<K: Kv>(kv: &K) {
    let (done, finished) = mpsc::channel();
    let script =
        Script::new(move |message, _, _| done.send(message.id.to_vec()).map_err(|_| Status::Busy));
    let worker = worker(kv, &script, &ManualTime::at(0), 8);
    worker.start().unwrap();
    assert_eq!(worker.start(), Err(Status::Busy));
    for id in ["a", "b", "c"] {
        let message = Message::new(Kind::Command, 7, id, "");
        kv.write(move |tx| inbox::send(tx, &message.view()))
            .unwrap();
    }
    let seen: Vec<_> = finished.iter().take(3).collect();
    assert_eq!(seen, [b"a", b"b", b"c"]);
    worker.request_stop();
    worker.join();
    assert_eq!(worker.runner().state(), State::Stopped);
    assert!(rows(kv, Dbi::INBOX).is_empty());
}

/// With [`OnError::Stop`] an error ends the thread, with [`OnError::Survive`] it does not.
pub fn an_error_ends_the_thread_or_is_survived<K: Kv>(kv: &K) {
    for (id, on_error) in [("stops", OnError::Stop), ("survives", OnError::Survive)] {
        let (done, finished) = mpsc::channel();
        let script = Script::new(move |_, _, step| {
            done.send(step.attempt()).map_err(|_| Status::Busy)?;
            if step.attempt() == 1 {
                Err(Status::Full)
            } else {
                Ok(())
            }
        });
        let config = WorkerConfig {
            on_error,
            max_batch: 1,
            ..WorkerConfig::new(WORKER)
        };
        let time: Arc<dyn Time> = ManualTime::at(0);
        let worker = Worker::init(kv.clone(), script, config, time).unwrap();
        put(kv, 1, frame(id));
        worker.start().unwrap();
        assert_eq!(finished.recv(), Ok(1));
        match on_error {
            OnError::Stop => {
                worker.join();
                assert!(finished.try_recv().is_err());
                kv.write(|tx| inbox::next_seq(tx, WORKER)).unwrap();
                kv.write(|tx| tx.delete(Dbi::INBOX, &InboxKey::new(WORKER, 2).to_bytes()))
                    .unwrap();
            }
            OnError::Survive => {
                assert_eq!(finished.recv(), Ok(2));
                worker.shutdown();
            }
        }
        assert_eq!(worker.last_error(), Some(Status::Full));
    }
}

/// K7: several threads of one worker on one store run every row exactly once, while others write.
pub fn workers_on_one_store_share_the_work<K: Kv>(kv: &K) {
    const MESSAGES: usize = 60;
    let gate = Gate::new();
    let done = Arc::new(AtomicUsize::new(0));
    let (tell, told) = mpsc::channel();
    let workers: Vec<_> = (1..=3)
        .map(|owner| {
            let (done, tell) = (Arc::clone(&done), tell.clone());
            let script = Script::new(move |message, tx, _| {
                let count = tx.get(Dbi(7), message.id)?.map_or(0, |count| count[0]);
                tx.put(Dbi(7), message.id, &[count + 1])?;
                if done.fetch_add(1, Ordering::Relaxed) + 1 >= MESSAGES {
                    tell.send(()).map_err(|_| Status::Busy)?;
                }
                Ok(())
            });
            let mut config = WorkerConfig {
                max_batch: 4,
                ..WorkerConfig::new(WORKER)
            };
            config.runner.owner = owner;
            let time: Arc<dyn Time> = ManualTime::at(0);
            let worker = Worker::init(kv.clone(), script, config, time).unwrap();
            worker.set_policy(Policy {
                lease_ttl_ms: i64::MAX,
                ..Policy::DEFAULT
            });
            worker.set_gate((owner != 3).then(|| gate.clone()));
            worker.start().unwrap();
            worker
        })
        .collect();
    for index in 0..MESSAGES {
        let message = Message::new(Kind::Command, 7, format!("m{index}"), "");
        kv.write(move |tx| inbox::send(tx, &message.view()))
            .unwrap();
    }
    told.recv().unwrap();
    for worker in &workers {
        worker.shutdown();
    }
    let counts = rows(kv, Dbi(7));
    assert_eq!(counts.len(), MESSAGES);
    assert!(counts.iter().all(|(_, count)| count == &[1]), "{counts:?}");
}

/// A first half that takes longer than a lease renews it, so that no other takes the row over.
pub fn a_slow_step_keeps_its_claim<K: Kv>(kv: &K) {
    put(kv, 1, frame("slow"));
    put(kv, 2, frame("behind it"));
    let time = ManualTime::at(0);
    let (clock, store) = (Arc::clone(&time), kv.clone());
    let rival = Arc::new(other_runner(kv, &Script::succeeds(), 99));
    let script = Script::with_prepare(
        move |message, preparing| {
            if message.id != b"slow" {
                return Ok(());
            }
            for now in [600, 1200, 1800, 2400] {
                clock.set(now);
                preparing.keep_alive()?;
                assert_eq!(rival.poll_inbox(8, &|| Millis(now)).processed, 0);
                assert_eq!(inbox_seqs(&store), [1, 2]);
            }
            Ok(())
        },
        |_, _, _| Ok(()),
    );
    let stage = Stage::new(kv, script);
    let polled = stage.runner.poll_inbox(8, &|| time.now());
    assert_eq!(
        polled,
        Polled {
            processed: 2,
            failure: None
        }
    );
    assert_eq!(stage.runner.metrics().lost_claims, 0);
}

/// The keeper renews from outside, for first halves that block.
pub fn a_keeper_renews_from_outside<K: Kv>(kv: &K) {
    put(kv, 1, frame("slow"));
    let time = ManualTime::at(0);
    let clock = Arc::clone(&time);
    let (hand_over, taken) = mpsc::channel::<crate::runner::LeaseKeeper<K>>();
    let taken = std::sync::Mutex::new(taken);
    let rival = Arc::new(other_runner(kv, &Script::succeeds(), 99));
    let script = Script::with_prepare(
        move |_, _| {
            let keeper = super::stage::lock(&taken).recv().unwrap();
            for now in [400, 600, 1200, 1800] {
                clock.set(now);
                assert_eq!(keeper.renew(Millis(now)), Ok(usize::from(now > 500)));
            }
            assert_eq!(rival.poll_inbox(8, &|| Millis(2800)).processed, 0);
            Ok(())
        },
        |_, _, _| Ok(()),
    );
    let stage = Stage::new(kv, script);
    hand_over.send(stage.runner.lease_keeper()).unwrap();
    assert_eq!(stage.runner.poll_inbox(8, &|| time.now()).processed, 1);
}

/// Somebody removes the row itself and knows nothing of leases.
pub fn a_row_removed_while_it_is_prepared_leaves_no_lease_behind<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let store = kv.clone();
    let script = Script::with_prepare(
        move |_, _| {
            let key = InboxKey::new(WORKER, 1).to_bytes();
            store.write(move |tx| tx.delete(Dbi::INBOX, &key)).map(drop)
        },
        |_, _, _| Ok(()),
    );
    let stage = Stage::new(kv, script);
    assert_eq!(stage.poll(8, 0), Polled::default());
    assert!(stage.script.calls().is_empty());
    assert!(rows(kv, Dbi::LEASES).is_empty());
}

/// Without renewal another takes over; the late one notices and changes nothing.
pub fn a_step_whose_claim_was_taken_over_changes_nothing<K: Kv>(kv: &K) {
    put(kv, 1, frame("m1"));
    let rival_script = Script::new(|_, tx, _| tx.put(Dbi(7), b"by", b"rival"));
    let rival = Arc::new(other_runner(kv, &rival_script, 99));
    let script = Script::with_prepare(
        move |_, _| {
            assert_eq!(rival.poll_inbox(8, &|| Millis(5000)).processed, 1);
            Ok(())
        },
        |_, tx, _| tx.put(Dbi(7), b"by", b"late"),
    );
    let stage = Stage::new(kv, script);
    assert_eq!(stage.poll(8, 0), Polled::default());
    assert_eq!(rows(kv, Dbi(7)), [(b"by".to_vec(), b"rival".to_vec())]);
    assert_eq!(stage.runner.metrics().lost_claims, 1);
    assert!(stage.replay().is_empty());
}
