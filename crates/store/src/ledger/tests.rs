//! The ledger on `SQLite`: threaded on a file and in memory, and inline.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use kiln_kernel::{Dbi, Kv, KvTx, Status};
use kiln_model::Millis;

use super::{FaultPlan, NoFaults, Verdict};
use crate::testing::{ManualClock, MemoryDatabase, SeededEntropy};
use crate::{Bell, DatabaseErrorKind, Error, Ledger, Pending, Store, StoreConfig, Tx, params};

const APP: Dbi = Dbi(7);

fn memory() -> Store {
    let config = StoreConfig::new(
        "sqlite::memory:",
        Arc::new(ManualClock::default()),
        Arc::new(SeededEntropy::new(1)),
    );
    Store::open(&config).unwrap()
}

fn put(ledger: &Ledger, key: &'static [u8], value: &'static [u8]) -> Result<(), Status> {
    ledger.write(move |tx| tx.put(APP, key, value))
}

fn get(ledger: &Ledger, key: &'static [u8]) -> Option<Vec<u8>> {
    ledger.read(move |tx| tx.get(APP, key)).unwrap()
}

#[test]
fn what_was_acknowledged_can_be_read() {
    let store = memory();
    put(&store.ledger, b"k", b"v").unwrap();
    assert_eq!(get(&store.ledger, b"k"), Some(b"v".to_vec()));
}

#[test]
fn an_error_undoes_its_own_closure_and_no_other() {
    let store = memory();
    let kept = store.ledger.submit(|tx| raw_put(tx, b"a"));
    let undone = store.ledger.submit(|tx| {
        raw_put(tx, b"b")?;
        Err::<(), _>(Error::Refused("I changed my mind".into()))
    });
    let also_kept = store.ledger.submit(|tx| raw_put(tx, b"c"));
    kept.wait().unwrap();
    assert!(matches!(undone.wait(), Err(Error::Refused(_))));
    also_kept.wait().unwrap();
    assert!(get(&store.ledger, b"a").is_some());
    assert!(get(&store.ledger, b"b").is_none());
    assert!(get(&store.ledger, b"c").is_some());
}

#[test]
fn a_panic_undoes_its_own_closure_and_is_told_to_its_caller() {
    let store = memory();
    let panicked = store.ledger.submit(|tx| {
        raw_put(tx, b"a")?;
        panic!("on purpose");
        #[expect(unreachable_code, reason = "gives the closure its type")]
        Ok::<(), Error>(())
    });
    let kept = store.ledger.submit(|tx| raw_put(tx, b"b"));
    assert!(matches!(panicked.wait(), Err(Error::Panicked { message }) if message == "on purpose"));
    kept.wait().unwrap();
    assert!(get(&store.ledger, b"a").is_none());
    assert!(get(&store.ledger, b"b").is_some());
}

#[test]
fn what_waits_while_a_batch_runs_is_committed_together() {
    let clock = Arc::new(ManualClock::default());
    let config = StoreConfig::new(
        "sqlite::memory:",
        clock.clone(),
        Arc::new(SeededEntropy::new(1)),
    );
    let store = Store::open(&config).unwrap();
    let held = Held::new(&store.ledger);
    let before = store.ledger.commits();
    // The clocks move in every closure: kernel time is read once for all of them, the wall clock for each.
    let reads: Vec<_> = (0..100)
        .map(|_| {
            let clock = clock.clone();
            store.ledger.submit(move |tx| {
                clock.advance(1);
                Ok::<_, Error>((tx.now(), tx.wall()))
            })
        })
        .collect();
    held.release();
    let times: Vec<(Millis, Millis)> = reads.into_iter().map(|read| read.wait().unwrap()).collect();
    assert!(times.iter().all(|(now, _)| *now == times[0].0), "{times:?}");
    assert!(times.is_sorted_by(|one, next| one.1 < next.1), "{times:?}");
    assert_eq!(store.ledger.commits() - before, 1);
}

#[test]
fn an_ok_over_a_failed_statement_is_overruled() {
    let store = memory();
    let answer = store.ledger.submit(|tx| {
        raw_put(tx, b"a")?;
        drop(tx.execute("INSERT INTO meta SELECT * FROM meta", &[]));
        Ok::<_, Error>(())
    });
    assert!(matches!(
        answer.wait(),
        Err(Error::Database {
            kind: DatabaseErrorKind::Constraint,
            ..
        })
    ));
    assert!(get(&store.ledger, b"a").is_none());
}

#[test]
fn a_failure_inside_a_nested_frame_can_be_survived() {
    let store = memory();
    let answer = store.ledger.submit(|tx| {
        raw_put(tx, b"a")?;
        tx.begin_nested()?;
        assert!(
            tx.execute("INSERT INTO meta SELECT * FROM meta", &[])
                .is_err()
        );
        assert!(tx.query("SELECT 1", &[]).is_err(), "the frame is poisoned");
        tx.rollback_nested()?;
        raw_put(tx, b"b")
    });
    answer.wait().unwrap();
    assert!(get(&store.ledger, b"a").is_some());
    assert!(get(&store.ledger, b"b").is_some());
}

#[test]
fn a_closure_that_leaves_a_frame_open_is_refused() {
    let store = memory();
    let answer = store.ledger.submit(|tx| {
        tx.begin_nested()?;
        raw_put(tx, b"a")
    });
    assert!(answer.wait().is_err());
    assert!(get(&store.ledger, b"a").is_none());
}

#[test]
fn a_closure_cannot_end_the_transaction_of_others() {
    let store = memory();
    let answer = store.ledger.submit(|tx| tx.rollback_nested());
    assert!(answer.wait().is_err());
    put(&store.ledger, b"k", b"v").unwrap();
}

#[test]
fn a_closure_whose_transaction_was_lost_runs_again_alone() {
    let store = memory();
    let held = Held::new(&store.ledger);
    let (runs, innocent) = counted(&store.ledger, |tx| raw_put(tx, b"a"));
    // SQLite ends the whole transaction on a full disk in the same way.
    let guilty = store.ledger.submit(|tx| tx.execute("ROLLBACK", &[]));
    held.release();
    innocent.wait().unwrap();
    assert!(guilty.wait().is_err());
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    assert!(get(&store.ledger, b"a").is_some());
}

#[test]
fn a_closure_that_changed_something_and_fails_takes_the_others_through_a_second_run_once() {
    let store = memory();
    for (batch, expected) in [(1, 2), (2, 1)] {
        let held = Held::new(&store.ledger);
        let (runs, innocent) = counted(&store.ledger, move |tx| raw_put(tx, &[b'a', batch]));
        let guilty = store.ledger.submit(move |tx| {
            raw_put(tx, &[b'b', batch])?;
            Err::<(), _>(Error::Closed)
        });
        held.release();
        innocent.wait().unwrap();
        assert!(guilty.wait().is_err());
        assert_eq!(runs.load(Ordering::SeqCst), expected, "batch {batch}");
    }
    assert!(get(&store.ledger, &[b'a', 2]).is_some());
    assert!(get(&store.ledger, &[b'b', 1]).is_none());
}

#[test]
fn a_closure_that_only_looked_fails_alone() {
    let store = memory();
    let held = Held::new(&store.ledger);
    let (runs, innocent) = counted(&store.ledger, |tx| raw_put(tx, b"a"));
    let guilty = store.ledger.submit(|tx| {
        tx.query("SELECT value FROM kernel WHERE dbi = 7", &[])?;
        tx.ring(Bell::Job(1));
        Err::<(), _>(Error::Closed)
    });
    let mut bell = store.bells.subscribe(Bell::Job(1));
    held.release();
    innocent.wait().unwrap();
    assert!(guilty.wait().is_err());
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    store.ledger.close();
    assert!(!bell.wait_timeout(std::time::Duration::ZERO));
}

#[test]
fn bells_ring_for_what_was_kept_only() {
    let store = memory();
    let mut kept = store.bells.subscribe(Bell::Job(1));
    let mut undone = store.bells.subscribe(Bell::Job(2));
    let failing = store.ledger.submit(|tx| {
        tx.ring(Bell::Job(2));
        Err::<(), _>(Error::Closed)
    });
    let ringing = store.ledger.submit(|tx| {
        tx.ring(Bell::Job(1));
        Ok::<_, Error>(())
    });
    assert!(failing.wait().is_err());
    ringing.wait().unwrap();
    assert!(kept.wait_timeout(LONG));
    store.ledger.close();
    assert!(!undone.wait_timeout(std::time::Duration::ZERO));
}

#[test]
fn a_closed_ledger_serves_what_was_waiting_and_refuses_the_rest() {
    let store = memory();
    let waiting: Vec<_> = (0..50)
        .map(|n: u32| {
            store.ledger.submit(move |tx| {
                tx.execute(
                    "INSERT INTO kernel (dbi, key, value) VALUES (7, ?1, ?1)",
                    params![n.to_be_bytes().to_vec()],
                )
            })
        })
        .collect();
    store.ledger.close();
    for answer in waiting {
        answer.wait().unwrap();
    }
    assert!(matches!(
        store.ledger.submit(|tx| raw_put(tx, b"z")).wait(),
        Err(Error::Closed)
    ));
}

#[test]
fn a_write_in_a_read_is_refused() {
    let store = memory();
    let answer = store.ledger.read(|tx| tx.put(APP, b"k", b"v"));
    assert!(matches!(answer, Err(Status::Store(_))));
    put(&store.ledger, b"k", b"v").unwrap();
}

#[test]
fn a_flood_is_held_back_and_all_of_it_is_served() {
    let store = memory();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..50_u32 {
            let ledger = store.ledger.clone();
            writers.spawn(async move {
                for n in 0..200_u32 {
                    let key = [writer.to_be_bytes(), n.to_be_bytes()].concat();
                    ledger
                        .submit(move |tx| {
                            tx.execute(
                                "INSERT INTO kernel (dbi, key, value) VALUES (7, ?1, ?1)",
                                params![key.clone()],
                            )
                        })
                        .await
                        .unwrap();
                }
            });
        }
        while let Some(done) = writers.join_next().await {
            done.unwrap();
        }
    });
    let count = store.reader.read(|query| {
        query
            .query_one("SELECT COUNT(*) FROM kernel", &[])?
            .ok_or(Error::Closed)?
            .get::<i64>(0)
    });
    assert_eq!(count.wait().unwrap(), 10_000);
}

#[test]
fn a_crash_before_the_commit_loses_the_write_and_a_crash_after_it_keeps_it() {
    for (point, survives) in [(Point::Before, false), (Point::After, true)] {
        let database = MemoryDatabase::new().unwrap();
        let ledger = inline(&database, Arc::new(CrashAt(point)));
        assert!(matches!(
            ledger.submit(|tx| raw_put(tx, b"k")).wait(),
            Err(Error::Closed)
        ));
        assert!(matches!(
            ledger.submit(|tx| raw_put(tx, b"x")).wait(),
            Err(Error::Closed)
        ));
        let reopened = inline(&database, Arc::new(NoFaults));
        assert_eq!(get(&reopened, b"k").is_some(), survives);
        assert!(get(&reopened, b"x").is_none());
    }
}

#[test]
fn the_sabotaged_ledger_loses_what_it_acknowledged() {
    let database = MemoryDatabase::new().unwrap();
    let ledger = inline(&database, Arc::new(CrashAt(Point::Acknowledged)));
    ledger.submit(|tx| raw_put(tx, b"k")).wait().unwrap();
    assert!(get(&inline(&database, Arc::new(NoFaults)), b"k").is_none());
}

#[test]
fn kernel_time_never_repeats_over_a_crash() {
    let database = MemoryDatabase::new().unwrap();
    let clock = Arc::new(ManualClock::default());
    let open = || {
        Ledger::inline(
            &database,
            clock.clone(),
            &SeededEntropy::new(1),
            Arc::new(NoFaults),
        )
        .unwrap()
    };
    let mut last = Millis(-1);
    for _ in 0..20 {
        let ledger = open();
        for _ in 0..5 {
            clock.advance(337);
            let now = ledger.submit(|tx| Ok::<_, Error>(tx.now())).wait().unwrap();
            assert!(now > last, "{now} after {last}");
            last = now;
        }
    }
}

#[test]
fn a_clean_close_lets_kernel_time_go_on_without_a_skip() {
    let database = MemoryDatabase::new().unwrap();
    let clock = Arc::new(ManualClock::default());
    let first = inline_at(&database, &clock);
    clock.advance(5);
    let before = first.submit(|tx| Ok::<_, Error>(tx.now())).wait().unwrap();
    first.close();
    assert_eq!(inline_at(&database, &clock).now(), before);
}

const LONG: std::time::Duration = std::time::Duration::from_mins(1);

/// A closure that keeps the ledger thread busy until it is released, so that what follows lands in its batch.
struct Held {
    gate: Arc<Barrier>,
    answer: Pending<(), Error>,
}

impl Held {
    fn new(ledger: &Ledger) -> Self {
        let gate = Arc::new(Barrier::new(2));
        let inside = Arc::clone(&gate);
        let mut was_held = false;
        let answer = ledger.submit(move |_| {
            if !std::mem::replace(&mut was_held, true) {
                inside.wait();
                inside.wait();
            }
            Ok(())
        });
        gate.wait();
        Self { gate, answer }
    }

    fn release(self) {
        self.gate.wait();
        self.answer.wait().unwrap();
    }
}

/// Submits a closure, and counts how often it runs.
fn counted(
    ledger: &Ledger,
    mut body: impl FnMut(&mut dyn Tx) -> Result<(), Error> + Send + 'static,
) -> (Arc<AtomicUsize>, Pending<(), Error>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let answer = ledger.submit(move |tx| {
        counter.fetch_add(1, Ordering::SeqCst);
        body(tx)
    });
    (runs, answer)
}

fn raw_put(tx: &mut dyn Tx, key: &[u8]) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO kernel (dbi, key, value) VALUES (7, ?1, ?1)",
        params![key],
    )
    .map(drop)
}

fn inline(database: &MemoryDatabase, faults: Arc<dyn FaultPlan>) -> Ledger {
    Ledger::inline(
        database,
        Arc::new(ManualClock::default()),
        &SeededEntropy::new(1),
        faults,
    )
    .unwrap()
}

fn inline_at(database: &MemoryDatabase, clock: &Arc<ManualClock>) -> Ledger {
    Ledger::inline(
        database,
        clock.clone(),
        &SeededEntropy::new(1),
        Arc::new(NoFaults),
    )
    .unwrap()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Point {
    Before,
    After,
    Acknowledged,
}

#[derive(Debug)]
struct CrashAt(Point);

impl FaultPlan for CrashAt {
    fn before_commit(&self) -> Verdict {
        if self.0 == Point::After {
            Verdict::Continue
        } else {
            Verdict::Crash
        }
    }

    fn after_commit(&self) -> Verdict {
        Verdict::Crash
    }

    fn acknowledges_before_commit(&self) -> bool {
        self.0 == Point::Acknowledged
    }
}
