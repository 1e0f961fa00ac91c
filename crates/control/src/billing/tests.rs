use std::sync::{Arc, Mutex};
use std::time::Duration;

use kiln_kernel::{InboxKey, MessageView, Worker, dead_letters};
use kiln_model::{Kind, Millis, OrganizationUuid, Priority};
use kiln_store::Ledger;
use kiln_store::sql::billing_minute::Minute;
use kiln_store::sql::organization;
use kiln_store::testing::SeededEntropy;

use super::{BillingHandler, Delivery, Sink, Told, ensure, idempotency_key};
use crate::Heartbeats;
use crate::jobs::{self, Holder, Output};
use crate::testing::{KernelTime, LEASE, World};

/// Makes a test on each engine of every function that takes a world. Those that let time pass are for SQLite alone: kernel time
/// on PostgreSQL is that of the database, which nobody moves.
macro_rules! on_both_engines {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $name() {
                super::$name(crate::testing::World::new);
            })*
        }
        mod postgres {
            $(#[test]
            fn $name() {
                super::$name(crate::testing::World::on_postgres);
            })*
        }
    };
}

on_both_engines!(
    a_job_that_never_ran_owes_nothing,
    a_result_whose_start_was_lost_owes_one_minute,
    what_is_said_twice_is_owed_once,
);

type MakeWorld = fn() -> World;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
/// Longer than minutes gather and than the kernel wants to rest.
const SOON: Duration = Duration::from_secs(6);

/// Remembers what it was told, and answers as it is told to.
#[derive(Debug, Default)]
struct Ears {
    heard: Mutex<Vec<String>>,
    trouble: Mutex<bool>,
    refuses: Mutex<Option<String>>,
}

impl Sink for Ears {
    fn deliver(&self, minutes: &[Minute]) -> Delivery {
        if *self.trouble.lock().unwrap() {
            return Delivery {
                told: Vec::new(),
                trouble: Some("nobody answers".to_owned()),
            };
        }
        let mut delivery = Delivery::default();
        for minute in minutes {
            let key = idempotency_key(minute);
            if self.refuses.lock().unwrap().as_ref() == Some(&key) {
                delivery.told.push(Told::Refused("no such customer".into()));
                continue;
            }
            self.heard.lock().unwrap().push(key);
            delivery.told.push(Told::Taken);
        }
        delivery
    }
}

/// A world in which somebody bills.
struct Till {
    world: World,
    runner: i64,
    organization: i64,
    ears: Arc<Ears>,
    worker: Worker<Ledger, BillingHandler>,
}

impl Till {
    fn new(world: MakeWorld) -> Self {
        let world = world();
        let runner = world.runner("runner");
        let organization = world.write(|tx| {
            let uuid = OrganizationUuid::mint(Millis(1), &SeededEntropy::new(7));
            let (name, slug) = ("Acme".parse().unwrap(), "acme".parse().unwrap());
            Ok(organization::insert(tx, uuid, &name, &slug)?)
        });
        let ears = Arc::new(Ears::default());
        let handler = BillingHandler {
            store: world.store.ledger.clone(),
            sink: Arc::clone(&ears) as _,
        };
        let time = Arc::new(KernelTime(world.store.ledger.clone()));
        let worker = super::worker(world.store.ledger.clone(), handler, 0, time).unwrap();
        worker.runner().start().unwrap();
        Self {
            world,
            runner,
            organization,
            ears,
            worker,
        }
    }

    /// A job of the organization, claimed.
    fn claimed(&self, name: &str, priority: Priority) -> (i64, Holder) {
        let mut ask = self.world.ask(Kind::Bench);
        ask.public_id = Some(name.to_owned());
        ask.organization = Some(self.organization);
        ask.priority = priority;
        let id = self.world.submit(ask);
        let job = self.world.claim(self.runner).unwrap();
        assert_eq!(job.id, id);
        let holder = Holder {
            runner: self.runner,
            epoch: Some(job.life.epoch),
        };
        (id, holder)
    }

    /// The same, running.
    fn running(&self, name: &str) -> (i64, Holder) {
        let (id, holder) = self.claimed(name, Priority::TEAM);
        self.world.start(id, holder);
        (id, holder)
    }

    fn complete(&self, (id, holder): (i64, Holder)) {
        self.world.write(move |tx| {
            jobs::complete(tx, id, holder, &Output::new(b"{}".to_vec()), "test").map(drop)
        });
    }

    fn beat(&self, (id, holder): (i64, Holder)) {
        let beats = Heartbeats::default();
        beats.beat(id, holder.epoch.unwrap(), self.world.store.ledger.now());
        self.world.flush(&beats);
    }

    /// Lets the outbox do what is due.
    fn pass(&self, span: Duration) {
        self.world
            .clock
            .advance(i64::try_from(span.as_millis()).unwrap());
        while self.worker.tick().processed > 0 {}
    }

    fn heard(&self) -> Vec<String> {
        self.ears.heard.lock().unwrap().clone()
    }

    /// The minutes that are written down, in order: job and number.
    fn minutes(&self) -> Vec<(String, i64)> {
        self.world.write(|tx| {
            let rows = tx.query(
                "SELECT job, minute FROM billing_minute ORDER BY job, minute",
                &[],
            )?;
            rows.iter()
                .map(|row| Ok((row.get(0)?, row.get(1)?)))
                .collect()
        })
    }

    fn letters(&self) -> Vec<(InboxKey, String)> {
        self.world.write(|tx| {
            let letters = dead_letters::list(tx, InboxKey::new(0, 0), 10)?;
            let text = |frame: &[u8]| {
                let message = MessageView::decode(frame).unwrap();
                String::from_utf8(message.payload.to_vec()).unwrap()
            };
            Ok(letters
                .iter()
                .map(|(key, letter)| (*key, text(&letter.frame)))
                .collect())
        })
    }
}

fn check_minutes(run: Duration, expected: i64) {
    let till = Till::new(World::new);
    let job = till.running("a");
    till.world
        .clock
        .advance(i64::try_from(run.as_millis()).unwrap());
    till.complete(job);
    let minutes = till.minutes();
    let expected: Vec<_> = (1..=expected).map(|n| ("a".to_owned(), n)).collect();
    assert_eq!(minutes, expected, "{run:?}");
}

#[test]
fn every_begun_minute_is_owed_and_one_at_least() {
    check_minutes(Duration::ZERO, 1);
    check_minutes(SECOND, 1);
    check_minutes(MINUTE, 1);
    check_minutes(MINUTE + Duration::from_millis(1), 2);
    check_minutes(10 * MINUTE, 10);
}

fn a_job_that_never_ran_owes_nothing(world: MakeWorld) {
    let till = Till::new(world);
    let (id, holder) = till.claimed("a", Priority::TEAM);
    till.world
        .write(move |tx| jobs::fail(tx, id, holder, None, "no such image", "test").map(drop));
    assert_eq!(till.minutes(), []);
}

fn a_result_whose_start_was_lost_owes_one_minute(world: MakeWorld) {
    let till = Till::new(world);
    let job = till.claimed("a", Priority::TEAM);
    till.complete(job);
    assert_eq!(till.minutes(), [("a".to_owned(), 1)]);
}

fn what_is_said_twice_is_owed_once(world: MakeWorld) {
    let till = Till::new(world);
    let job = till.running("a");
    till.world.start(job.0, job.1);
    for _ in 0..2 {
        till.beat(job);
        till.complete(job);
    }
    let minutes = till.minutes();
    let numbered = (1..).map(|minute| ("a".to_owned(), minute));
    let expected: Vec<_> = numbered.take(minutes.len()).collect();
    assert!(!minutes.is_empty());
    assert_eq!(minutes, expected);
}

#[test]
fn heartbeats_make_minutes_due_before_the_end_and_the_end_adds_the_rest() {
    let till = Till::new(World::new);
    let job = till.running("a");
    till.beat(job);
    assert_eq!(till.minutes().len(), 1);
    till.world.clock.advance(61_000);
    till.beat(job);
    till.beat(job);
    assert_eq!(till.minutes().len(), 2);
    till.world.clock.advance(90_000);
    till.complete(job);
    assert_eq!(till.minutes().len(), 3);
    till.complete(job);
    assert_eq!(till.minutes().len(), 3);
}

#[test]
fn a_lost_job_whose_result_comes_late_owes_up_to_the_result() {
    let till = Till::new(World::new);
    let job = till.running("a");
    till.world.pass(LEASE);
    assert_eq!(till.minutes().len(), 2);
    till.world.clock.advance(60_000);
    till.complete(job);
    assert_eq!(till.minutes().len(), 3);
}

#[test]
fn each_minute_is_told_once_under_its_key() {
    let till = Till::new(World::new);
    let job = till.running("a");
    till.pass(SOON);
    assert_eq!(till.heard(), ["a:1"]);
    till.world.clock.advance(60_000);
    till.complete(job);
    till.pass(SOON);
    till.pass(SOON);
    assert_eq!(till.heard(), ["a:1", "a:2"]);
}

#[test]
fn plans_that_are_not_metered_are_counted_and_nobody_is_told() {
    let till = Till::new(World::new);
    let (id, holder) = till.claimed("a", Priority::FREE);
    till.world.start(id, holder);
    till.pass(SOON);
    assert_eq!(till.minutes().len(), 1);
    assert_eq!(till.heard(), [""; 0]);
}

#[test]
fn trouble_is_waited_out_longer_and_longer() {
    let till = Till::new(World::new);
    *till.ears.trouble.lock().unwrap() = true;
    till.running("a");
    for _ in 0..20 {
        till.pass(10 * MINUTE);
    }
    assert_eq!(till.heard(), [""; 0]);
    assert_eq!(till.letters(), []);
    *till.ears.trouble.lock().unwrap() = false;
    till.pass(MINUTE);
    assert_eq!(till.heard(), [""; 0], "it rests ten minutes by now");
    till.pass(10 * MINUTE);
    assert_eq!(till.heard(), ["a:1"]);
}

#[test]
fn a_refused_minute_is_a_dead_letter_with_its_reason_and_holds_up_no_other() {
    let till = Till::new(World::new);
    *till.ears.refuses.lock().unwrap() = Some("a:1".to_owned());
    let first = till.running("a");
    till.complete(first);
    till.running("b");
    till.pass(SOON);
    assert_eq!(till.heard(), ["b:1"]);
    let letters = till.letters();
    assert!(letters[0].1.contains("no such customer"), "{letters:?}");
    *till.ears.refuses.lock().unwrap() = None;
    let key = letters[0].0;
    till.world
        .write(move |tx| Ok(dead_letters::replay_at_tail(tx, key).map(drop)?));
    till.pass(SOON);
    assert_eq!(till.heard(), ["b:1", "a:1"]);
    assert_eq!(till.letters(), []);
}

#[test]
fn what_a_server_left_behind_is_told_after_the_next_start() {
    let till = Till::new(World::new);
    till.running("a");
    till.world.write(|tx| {
        tx.execute("DELETE FROM kernel WHERE dbi = 4 OR dbi = 6", &[])?;
        Ok(kiln_store::sql::setting::remove(tx, "billing.due")?)
    });
    till.pass(SOON);
    assert_eq!(till.heard(), [""; 0]);
    till.world.write(ensure);
    till.pass(SOON);
    assert_eq!(till.heard(), ["a:1"]);
}
