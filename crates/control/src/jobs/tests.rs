//! What can happen to a job, one behaviour at a time.

mod servers;
mod slots;

use std::time::Duration;

use kiln_model::{Kind, Priority, Slot, Status, Trigger};

use super::{
    Assigned, Canceled, Claim, Delivered, Directive, Holder, Output, cancel, complete, fail,
    process, ready, refuse_hand_off,
};
use crate::Denied;
use crate::testing::{GRACE, LEASE, RUN, SET_UP, World};

fn output(text: &str) -> Output {
    Output::new(text.as_bytes().to_vec())
}

/// A world with one job of `kind` that a runner holds.
fn claimed(kind: Kind) -> (World, i64, Holder) {
    let world = World::new();
    let runner = world.runner("one");
    let id = world.submit(world.ask(kind));
    let job = world.claim(runner).unwrap();
    assert_eq!(job.id, id);
    (
        world,
        id,
        Holder {
            runner,
            epoch: Some(job.life.epoch),
        },
    )
}

fn running(kind: Kind) -> (World, i64, Holder) {
    let (world, id, holder) = claimed(kind);
    assert_eq!(world.start(id, holder), Directive::Continue);
    (world, id, holder)
}

impl World {
    fn complete(&self, id: i64, holder: Holder) -> Result<Delivered, Denied> {
        self.try_write(move |tx| complete(tx, id, holder, &output("result"), "test"))
    }

    fn fail(&self, id: i64, holder: Holder) -> Result<Delivered, Denied> {
        self.try_write(move |tx| fail(tx, id, holder, None, "broken", "test"))
    }

    fn ready(&self, runner: i64) -> Assigned {
        self.write(move |tx| {
            let claim = Claim {
                runner,
                slot: Slot::WHOLE,
                actor: "test",
                lease_id: None,
            };
            ready(tx, &claim)
        })
    }

    fn cancel(&self, id: i64) -> Result<Canceled, Denied> {
        self.try_write(move |tx| cancel(tx, id, "test"))
    }

    fn timers(&self) -> usize {
        self.write(|tx| Ok(kiln_kernel::timers::due(tx, kiln_model::Millis::MAX, 100)?.len()))
    }
}

#[test]
fn a_job_goes_from_submit_to_processed() {
    let (world, id, holder) = running(Kind::Runtime);
    assert_eq!(world.complete(id, holder).unwrap(), Delivered::Accepted);
    assert!(world.write(move |tx| process(tx, id, 1, "test")));
    assert!(
        !world.write(move |tx| process(tx, id, 1, "test")),
        "only once"
    );
    let path = [
        Status::Pending,
        Status::Claimed,
        Status::Running,
        Status::Completed,
        Status::Processed,
    ];
    assert_eq!(world.path(id), path);
    assert_eq!(world.timers(), 0, "an ended job waits for nothing");
}

#[test]
fn completed_while_still_claimed_takes_both_steps() {
    let (world, id, holder) = claimed(Kind::Action);
    assert_eq!(world.complete(id, holder).unwrap(), Delivered::Accepted);
    let path = [
        Status::Pending,
        Status::Claimed,
        Status::Running,
        Status::Completed,
    ];
    assert_eq!(world.path(id), path);
}

#[test]
fn a_repeated_result_changes_nothing() {
    let (world, id, holder) = running(Kind::Action);
    world.complete(id, holder).unwrap();
    let before = world.job(id);
    assert_eq!(world.complete(id, holder).unwrap(), Delivered::Duplicate);
    assert_eq!(
        world.fail(id, holder).unwrap(),
        Delivered::Dropped(Status::Completed)
    );
    assert_eq!(world.job(id), before);
}

#[test]
fn a_runner_of_another_epoch_is_not_listened_to() {
    let (world, id, holder) = running(Kind::Action);
    world.fail(id, holder).unwrap();
    let again = world.claim(holder.runner).unwrap();
    assert_eq!((again.id, again.life.epoch), (id, 2));
    assert!(matches!(world.complete(id, holder), Err(Denied::NotHolder)));
    let other = Holder {
        runner: world.runner("two"),
        epoch: Some(2),
    };
    assert!(matches!(world.complete(id, other), Err(Denied::NotHolder)));
    assert_eq!(world.status(id), Status::Claimed);
}

#[test]
fn silence_fails_a_job_and_its_real_result_still_counts() {
    let (world, id, holder) = running(Kind::Bench);
    let almost = LEASE.saturating_sub(Duration::from_millis(1));
    world.pass(almost);
    assert_eq!(world.status(id), Status::Running);
    world.pass(Duration::from_millis(1));
    assert_eq!(world.status(id), Status::Failed);
    assert_eq!(world.job(id).life.cause, Some(Trigger::LostContact));
    assert_eq!(world.complete(id, holder).unwrap(), Delivered::Accepted);
    assert!(matches!(world.status(id), Status::Completed));
}

#[test]
fn a_failure_the_runner_reported_is_not_overridden() {
    let (world, id, holder) = running(Kind::Bench);
    world.fail(id, holder).unwrap();
    assert_eq!(
        world.complete(id, holder).unwrap(),
        Delivered::Dropped(Status::Failed)
    );
    assert_eq!(world.status(id), Status::Failed);
}

#[test]
fn heartbeats_keep_a_lease_alive_but_not_past_the_hard_timeout() {
    let (world, id, _) = running(Kind::Bench);
    let heartbeats = crate::Heartbeats::default();
    let total = RUN + GRACE;
    let step = Duration::from_secs(30);
    let mut passed = Duration::ZERO;
    while passed + step < total {
        heartbeats.beat(id, 1, world.store.ledger.now());
        let truths = world.flush(&heartbeats);
        assert!(truths.iter().all(|truth| !truth.is_over()));
        world.pass(step);
        passed += step;
        assert_eq!(world.status(id), Status::Running, "after {passed:?}");
    }
    heartbeats.beat(id, 1, world.store.ledger.now());
    world.flush(&heartbeats);
    world.pass(total.saturating_sub(passed));
    assert_eq!(world.status(id), Status::Canceled);
    assert_eq!(world.job(id).life.cause, Some(Trigger::HardTimeout));
    heartbeats.beat(id, 1, world.store.ledger.now());
    assert!(world.flush(&heartbeats).iter().all(crate::Truth::is_over));
}

#[test]
fn a_runner_that_only_heartbeats_meets_the_set_up_deadline() {
    let (world, id, _) = claimed(Kind::Bench);
    let heartbeats = crate::Heartbeats::default();
    let mut passed = Duration::ZERO;
    while passed < SET_UP {
        assert_eq!(world.status(id), Status::Claimed);
        heartbeats.beat(id, 1, world.store.ledger.now());
        world.flush(&heartbeats);
        world.pass(LEASE / 2);
        passed += LEASE / 2;
    }
    assert_eq!(world.status(id), Status::Failed);
    assert_eq!(world.job(id).life.cause, Some(Trigger::SetUpDeadline));
}

#[test]
fn a_ready_runner_has_forgotten_what_it_ran() {
    let (world, id, holder) = running(Kind::Bench);
    assert_eq!(world.ready(holder.runner), Assigned::Nothing);
    assert_eq!(world.status(id), Status::Failed);
    assert_eq!(world.start(id, holder), Directive::Stop);
    assert_eq!(world.complete(id, holder).unwrap(), Delivered::Accepted);
}

#[test]
fn a_ready_runner_is_given_again_what_it_never_began() {
    let (world, id, holder) = claimed(Kind::Bench);
    let other = world.submit(world.ask(Kind::Bench));
    world.pass(LEASE / 2);
    let Assigned::Again(job) = world.ready(holder.runner) else {
        panic!("the job is given again");
    };
    assert_eq!((job.id, Some(job.life.epoch)), (id, holder.epoch));
    assert_eq!(world.status(other), Status::Pending);
    // The lease counts from the second time.
    world.pass(LEASE / 2 + LEASE / 4);
    assert_eq!(world.start(id, holder), Directive::Continue);
}

#[test]
fn a_runner_that_only_says_ready_meets_the_set_up_deadline() {
    let (world, id, holder) = claimed(Kind::Bench);
    for _ in 0..20 {
        world.ready(holder.runner);
        world.pass(LEASE / 2);
    }
    assert_eq!(world.job(id).life.cause, Some(Trigger::SetUpDeadline));
    assert_eq!(world.start(id, holder), Directive::Stop);
}

#[test]
fn cancel_wins_or_loses_once() {
    let (world, id, holder) = running(Kind::Bench);
    assert_eq!(world.cancel(id).unwrap(), Canceled::Now);
    assert_eq!(world.cancel(id).unwrap(), Canceled::Already);
    assert_eq!(
        world.complete(id, holder).unwrap(),
        Delivered::Dropped(Status::Canceled)
    );
    assert_eq!(world.start(id, holder), Directive::Stop);
    assert_eq!(world.status(id), Status::Canceled);

    let (world, id, holder) = running(Kind::Action);
    world.complete(id, holder).unwrap();
    assert!(matches!(
        world.cancel(id),
        Err(Denied::Ended(Status::Completed))
    ));
}

#[test]
fn what_a_canceled_job_wrote_is_kept() {
    let (world, id, holder) = running(Kind::Bench);
    world.cancel(id).unwrap();
    let stored = |world: &World| {
        let epoch = holder.epoch.unwrap();
        world.write(move |tx| Ok(kiln_store::sql::job_output::find(tx, id, epoch)?))
    };
    assert_eq!(stored(&world), None);
    let dropped =
        world.write(move |tx| fail(tx, id, holder, Some(&output("half")), "stopped", "test"));
    assert_eq!(dropped, Delivered::Dropped(Status::Canceled));
    assert_eq!(stored(&world).unwrap().digest, *output("half").digest());
    assert_eq!(world.status(id), Status::Canceled);
}

#[test]
fn a_job_that_nobody_takes_expires() {
    let world = World::new();
    let mut ask = world.ask(Kind::Action);
    ask.timeouts.pending = Some(Duration::from_secs(1000));
    let id = world.submit(ask);
    world.pass(Duration::from_secs(999));
    assert_eq!(world.status(id), Status::Pending);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.status(id), Status::Canceled);
    assert_eq!(world.job(id).life.cause, Some(Trigger::PendingExpiry));
}

#[test]
fn a_jump_of_the_wall_clock_decides_nothing() {
    let (world, id, _) = running(Kind::Bench);
    world.clock.jump_wall(3_600_000);
    world.tick();
    assert_eq!(world.status(id), Status::Running);
    world.clock.jump_wall(-7_200_000);
    world.tick();
    assert_eq!(world.status(id), Status::Running);
}

#[test]
fn claims_go_by_priority_then_age() {
    let world = World::new();
    let runner = world.runner("one");
    let submit = |priority| {
        world.submit(kiln_store::sql::job::NewJob {
            priority,
            ..world.ask(Kind::Action)
        })
    };
    let low = submit(Priority::FREE);
    let first = submit(Priority::TEAM);
    let second = submit(Priority::TEAM);
    let high = submit(Priority::ENTERPRISE);
    let order: Vec<i64> = std::iter::from_fn(|| world.claim(runner))
        .map(|job| job.id)
        .collect();
    assert_eq!(order, [high, first, second, low]);
}

#[test]
fn a_limit_key_has_one_job_in_flight_whatever_the_lane() {
    let world = World::new();
    let (here, there) = (world.runner("here"), world.runner("there"));
    let other = world.write(move |tx| {
        let lane = kiln_store::sql::lane::ensure(tx, "other")?;
        kiln_store::sql::lane::link(tx, there, lane)?;
        Ok(lane)
    });
    let limited = |lane| {
        let mut ask = world.ask(Kind::Action);
        ask.limit_key = Some("org:1".to_owned());
        ask.lane = lane;
        world.submit(ask)
    };
    let (first, second, elsewhere) = (limited(world.lane), limited(world.lane), limited(other));
    let free = world.submit(world.ask(Kind::Action));

    let held = world.claim(here).unwrap();
    assert_eq!(held.id, first);
    assert_eq!(
        world.claim(there).unwrap().id,
        free,
        "the others of the key wait; those without do not"
    );
    assert_eq!(world.claim(there).map(|job| job.id), None);

    let holder = Holder {
        runner: here,
        epoch: Some(1),
    };
    world.complete(first, holder).unwrap();
    let next = world.claim(there).unwrap();
    assert_eq!(
        next.id, second,
        "both lanes have a first; the older goes first"
    );
    world.cancel(second).unwrap();
    assert_eq!(world.claim(there).unwrap().id, elsewhere);
}

#[test]
fn a_limited_job_for_a_lane_without_runners_does_not_block_its_siblings() {
    let world = World::new();
    let runner = world.runner("one");
    let deserted = world.write(|tx| Ok(kiln_store::sql::lane::ensure(tx, "deserted")?));
    let limited = |lane| {
        let mut ask = world.ask(Kind::Action);
        ask.limit_key = Some("org:1".to_owned());
        ask.lane = lane;
        world.submit(ask)
    };
    limited(deserted);
    let sibling = limited(world.lane);
    assert_eq!(world.claim(runner).unwrap().id, sibling);
}

#[test]
fn an_action_is_retried_in_place_until_its_limit() {
    let (world, id, _) = claimed(Kind::Action);
    for epoch in 1..=4 {
        let holder = Holder {
            runner: world.job(id).life.runner.unwrap(),
            epoch: Some(epoch),
        };
        assert_eq!(world.job(id).life.epoch, epoch);
        world.fail(id, holder).unwrap();
        if epoch < 4 {
            assert_eq!(world.status(id), Status::Pending);
            world.claim(holder.runner).unwrap();
        }
    }
    assert_eq!(world.status(id), Status::Failed);
    assert_eq!(world.job(id).life.retry_count, 3);
    assert!(matches!(
        world.try_write(move |tx| super::retry(tx, id, "test")),
        Err(Denied::RetriesSpent(3))
    ));
}

#[test]
fn a_canceled_action_is_never_retried() {
    let (world, id, _) = running(Kind::Action);
    world.cancel(id).unwrap();
    assert!(
        world
            .try_write(move |tx| super::retry(tx, id, "test"))
            .is_err()
    );
    assert_eq!(world.status(id), Status::Canceled);
}

#[test]
fn an_action_of_a_canceled_queue_is_not_sent_back() {
    let world = World::new();
    let queue = world.write(|tx| crate::queues::create(tx, "test", 3));
    let submit = || {
        let mut ask = world.ask(Kind::Action);
        ask.queue = Some(queue);
        world.submit(ask)
    };
    let (first, second) = (submit(), submit());
    world.write(|tx| crate::session::abandon(tx));
    assert_eq!(world.status(first), Status::Abandoned);
    world.write(move |tx| super::retry(tx, first, "test"));
    assert_eq!(world.status(first), Status::Pending);

    world.write(move |tx| crate::queues::cancel(tx, queue));
    let refused = world.try_write(move |tx| super::retry(tx, second, "test"));
    assert!(matches!(refused, Err(Denied::QueueClosed)), "{refused:?}");
}

#[test]
fn a_lost_runtime_job_continues_as_a_new_row_once_and_one_result_is_published() {
    let world = World::new();
    let runner = world.runner("one");
    let mut ask = world.ask(Kind::Runtime);
    ask.public_id = Some("rtj_01kkygkagq0jk17bx6y1w8c3df".to_owned());
    let first = world.submit(ask);
    world.claim(runner).unwrap();
    world.pass(LEASE);
    assert_eq!(world.status(first), Status::Failed);

    let copy = world.claim(runner).unwrap();
    assert_eq!(copy.ask.retry_of, Some(first));
    assert_eq!(copy.ask.root, Some(first));
    assert!(
        copy.ask
            .public_id
            .as_deref()
            .is_some_and(|id| id.starts_with("rtj_"))
    );
    assert_ne!(copy.ask.public_id, world.job(first).ask.public_id);

    let holder = Holder {
        runner,
        epoch: Some(1),
    };
    assert_eq!(
        world.complete(first, holder).unwrap(),
        Delivered::Accepted,
        "a late result"
    );
    assert_eq!(
        world.complete(copy.id, holder).unwrap(),
        Delivered::Accepted
    );
    assert!(world.job(first).life.published);
    assert!(
        !world.job(copy.id).life.published,
        "kept as evidence on its own row"
    );
}

#[test]
fn a_runtime_job_is_not_copied_twice() {
    let world = World::new();
    let runner = world.runner("one");
    world.submit(world.ask(Kind::Runtime));
    world.claim(runner).unwrap();
    world.pass(LEASE);
    let copy = world.claim(runner).unwrap();
    world.pass(LEASE);
    assert_eq!(world.status(copy.id), Status::Failed);
    assert_eq!(world.claim(runner).map(|job| job.id), None);
}

#[test]
fn after_a_start_nothing_is_lost_before_one_full_window() {
    let (world, id, _) = running(Kind::Bench);
    let opened = world.store.ledger.now() + LEASE;
    let timer = world.job(id).life.timer.unwrap();
    let key = kiln_kernel::TimerKey::new(timer.0, u64::try_from(timer.1).unwrap());
    world
        .clock
        .advance(i64::try_from(LEASE.as_millis()).unwrap());
    let decided = world.write(move |tx| {
        kiln_kernel::timers::cancel(tx, key)?;
        super::deadline::fire(tx, id, Some(key), opened)
    });
    assert_eq!(decided, None);
    assert_eq!(world.status(id), Status::Running);
    assert_eq!(world.job(id).life.timer.unwrap().0, opened + LEASE);
}

#[test]
fn a_result_that_ingest_refuses_says_so_on_the_row() {
    let (world, id, holder) = running(Kind::Runtime);
    world.complete(id, holder).unwrap();
    let epoch = holder.epoch.unwrap();
    assert!(world.write(move |tx| refuse_hand_off(tx, id, epoch, "no such repository", "ingest")));
    let life = world.job(id).life;
    assert_eq!(life.status, Status::Failed);
    assert_eq!(life.cause, Some(Trigger::HandOffRefused));
    assert_eq!(life.message.as_deref(), Some("no such repository"));
}
