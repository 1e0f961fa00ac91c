//! Runners that hold several jobs, and jobs that do not share.

use kiln_model::{Kind, Priority, Slot, Status};
use kiln_store::Bell;
use kiln_store::sql::job::Job;
use kiln_store::sql::runner;

use super::super::{Assigned, Claim, Claimed, Holder, ready, waiting};
use crate::testing::{LEASE, World};
use kiln_model::v0::Blocker;

const FIRST: Slot = Slot::new(0, 2).unwrap();
const SECOND: Slot = Slot::new(1, 2).unwrap();

impl World {
    fn submit_shared(&self) -> i64 {
        let mut ask = self.ask(Kind::Bench);
        ask.shared = true;
        self.submit(ask)
    }

    fn submit_alone(&self) -> i64 {
        self.submit(self.ask(Kind::Bench))
    }

    fn ready_in(&self, runner: i64, slot: Slot) -> Assigned {
        self.write(move |tx| {
            let claim = Claim {
                runner,
                slot,
                actor: "test",
                lease_id: None,
            };
            ready(tx, &claim)
        })
    }

    /// The job that this slot is given now.
    fn given(&self, runner: i64, slot: Slot) -> Job {
        self.claim_in(runner, slot).into_job().unwrap()
    }

    fn finish(&self, job: &Job) {
        self.complete(job.id, holder(job)).unwrap();
    }
}

fn holder(job: &Job) -> Holder {
    Holder {
        runner: job.life.runner.unwrap(),
        epoch: Some(job.life.epoch),
    }
}

#[test]
fn jobs_that_share_are_held_side_by_side_in_claim_order() {
    let world = World::new();
    let runner = world.runner("one");
    let (one, two) = (world.submit_shared(), world.submit_shared());
    let first = world.given(runner, SECOND);
    let second = world.given(runner, FIRST);
    assert_eq!((first.id, second.id), (one, two));
    assert_eq!((first.life.slot, second.life.slot), (Some(1), Some(0)));
}

#[test]
fn the_whole_runner_holds_a_job_in_no_slot() {
    let world = World::new();
    let runner = world.runner("one");
    world.submit_shared();
    assert_eq!(world.claim(runner).unwrap().life.slot, None);
}

#[test]
fn a_job_that_does_not_share_waits_until_the_runner_is_empty() {
    let world = World::new();
    let runner = world.runner("one");
    world.submit_shared();
    let running = world.given(runner, FIRST);
    let alone = world.submit_alone();
    assert_eq!(world.claim_in(runner, SECOND), Claimed::Aside(alone));
    world.finish(&running);
    assert_eq!(world.given(runner, SECOND).id, alone);
}

#[test]
fn nothing_begins_beside_a_job_that_does_not_share() {
    let world = World::new();
    let runner = world.runner("one");
    world.submit_alone();
    let alone = world.given(runner, SECOND);
    let (shared, another) = (world.submit_shared(), world.submit_alone());
    assert_eq!(world.claim_in(runner, FIRST), Claimed::Aside(shared));
    world.finish(&alone);
    let shared = world.given(runner, FIRST);
    assert_eq!(world.claim_in(runner, SECOND), Claimed::Aside(another));
    assert_eq!(shared.life.slot, Some(0));
}

#[test]
fn jobs_that_share_do_not_overtake_one_that_does_not() {
    let world = World::new();
    let runner = world.runner("one");
    world.submit_shared();
    let running = world.given(runner, FIRST);
    let alone = world.submit_alone();
    world.submit_shared();
    for _ in 0..3 {
        assert_eq!(world.claim_in(runner, SECOND), Claimed::Aside(alone));
    }
    world.finish(&running);
    assert_eq!(world.given(runner, FIRST).id, alone);
}

#[test]
fn one_that_shares_and_comes_first_is_taken() {
    let world = World::new();
    let runner = world.runner("one");
    world.submit_shared();
    world.given(runner, FIRST);
    world.submit_alone();
    let mut urgent = world.ask(Kind::Bench);
    urgent.shared = true;
    urgent.priority = Priority(Priority::TEAM.0 + 1);
    let urgent = world.submit(urgent);
    assert_eq!(world.given(runner, SECOND).id, urgent);
}

#[test]
fn another_runner_takes_what_does_not_fit() {
    let world = World::new();
    let (busy, idle) = (world.runner("one"), world.runner("two"));
    world.submit_shared();
    world.given(busy, FIRST);
    let alone = world.submit_alone();
    let later = world.submit_shared();
    assert_eq!(world.claim_in(busy, SECOND), Claimed::Aside(alone));
    assert_eq!(world.given(idle, FIRST).id, alone);
    assert_eq!(world.given(busy, SECOND).id, later);
}

#[test]
fn a_slot_that_is_idle_forgets_only_its_own_job() {
    let world = World::new();
    let runner = world.runner("one");
    world.submit_shared();
    world.submit_shared();
    let (first, second) = (world.given(runner, FIRST), world.given(runner, SECOND));
    for job in [&first, &second] {
        world.start(job.id, holder(job));
    }
    assert_eq!(world.ready_in(runner, SECOND), Assigned::Nothing);
    assert_eq!(world.status(first.id), Status::Running);
    assert_eq!(world.status(second.id), Status::Failed);
}

#[test]
fn a_slot_is_given_again_only_what_it_never_began_itself() {
    let world = World::new();
    let runner = world.runner("one");
    world.submit_shared();
    let first = world.given(runner, FIRST);
    assert_eq!(world.ready_in(runner, SECOND), Assigned::Nothing);
    let again = world.ready_in(runner, FIRST);
    assert_eq!(again.into_job().unwrap().id, first.id);
}

#[test]
fn a_runner_that_comes_back_with_other_slots_answers_for_all_it_held() {
    let world = World::new();
    let runner = world.runner("one");
    world.submit_shared();
    world.submit_shared();
    let (never_began, ran) = (world.given(runner, FIRST), world.given(runner, SECOND));
    world.start(ran.id, holder(&ran));
    // As a whole, it speaks for every slot.
    let again = world.ready_in(runner, Slot::WHOLE).into_job().unwrap();
    assert_eq!((again.id, again.life.slot), (never_began.id, None));
    assert_eq!(world.job(again.id).life.slot, None);
    assert_eq!(world.status(ran.id), Status::Failed);
    // Of several slots, the first speaks for what was given to the whole.
    assert_eq!(world.ready_in(runner, SECOND), Assigned::Nothing);
    let again = world.ready_in(runner, FIRST).into_job().unwrap();
    assert_eq!((again.id, again.life.slot), (never_began.id, Some(0)));
}

#[test]
fn a_slot_that_is_silent_loses_only_its_own_job() {
    let world = World::new();
    let runner = world.runner("one");
    world.submit_shared();
    world.submit_shared();
    let (silent, heard) = (world.given(runner, FIRST), world.given(runner, SECOND));
    for job in [&silent, &heard] {
        world.start(job.id, holder(job));
    }
    world.pass(LEASE / 2);
    world.start(heard.id, holder(&heard));
    world.pass(LEASE / 2);
    assert_eq!(world.status(silent.id), Status::Failed);
    assert_eq!(world.status(heard.id), Status::Running);
}

#[test]
fn the_end_of_a_job_in_a_slot_is_rung_and_that_of_another_is_not() {
    let world = World::new();
    let runner = world.runner("one");
    let mut bell = world.store.bells.subscribe(Bell::Slots(runner));
    let mut rang = || bell.wait_timeout(std::time::Duration::ZERO);
    world.submit_alone();
    world.finish(&world.claim(runner).unwrap());
    assert!(!rang());
    world.submit_alone();
    let job = world.given(runner, FIRST);
    assert!(!rang());
    world.finish(&job);
    assert!(rang());
}

#[test]
fn why_a_job_waits_knows_of_free_slots() {
    let world = World::new();
    let runner = world.runner("one");
    let told = r#"{"os":"linux","arch":"x86_64","version":"1","slots":2}"#;
    world.write(move |tx| Ok(runner::introduced(tx, runner, told)?));
    world.submit_shared();
    world.given(runner, FIRST);
    let (shared, alone) = (world.submit_shared(), world.submit_alone());
    let why = |id| {
        let (job, wall) = (world.job(id), world.store.ledger.wall());
        world.write(move |tx| waiting(tx, &job, wall)).blocker
    };
    assert_eq!(why(shared), Blocker::None);
    assert_eq!(why(alone), Blocker::RunnersBusy);
    world.given(runner, SECOND);
    let third = world.submit_shared();
    assert_eq!(why(third), Blocker::RunnersBusy);
}
