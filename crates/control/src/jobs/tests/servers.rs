//! What servers that share a database tell each other about claims and channels.

use std::time::Duration;

use kiln_model::{Kind, Slot};
use kiln_store::Bell;
use kiln_store::sql::channel::{self, Channel};
use kiln_store::sql::lane;

use crate::testing::World;

const FIRST: Slot = Slot::new(0, 2).unwrap();
const SECOND: Slot = Slot::new(1, 2).unwrap();

/// PostgreSQL passes over what a claim looks at until it commits.
#[test]
fn a_claim_rings_for_the_lanes_whose_jobs_it_leaves() {
    let world = World::on_postgres();
    let runner = world.runner("one");
    let other = world.write(move |tx| {
        let other = lane::ensure(tx, "other")?;
        lane::link(tx, runner, other)?;
        Ok(other)
    });
    let first = world.submit(world.ask(Kind::Bench));
    let mut ask = world.ask(Kind::Bench);
    ask.lane = other;
    world.submit(ask);
    let [mut taken, mut left] =
        [world.lane, other].map(|lane| world.store.bells.subscribe(Bell::Lane(lane)));
    assert_eq!(world.claim(runner).unwrap().id, first);
    assert!(left.wait_timeout(Duration::from_mins(1)));
    assert!(!taken.wait_timeout(Duration::ZERO));
}

#[test]
fn the_newest_channel_of_a_slot_speaks_for_it() {
    for world in [World::new(), World::on_postgres()] {
        let [one, another] = ["one", "another"].map(|name| world.runner(name));
        let open = |runner, slot| world.write(move |tx| Ok(channel::open(tx, runner, slot)?));
        let is_old =
            |channel: Channel| world.write(move |tx| Ok(channel::is_superseded(tx, channel)?));
        let older = open(one, Slot::WHOLE);
        let newer = open(one, Slot::WHOLE);
        open(another, Slot::WHOLE);
        assert_eq!([older, newer].map(is_old), [true, false]);
        let [first, second] = [FIRST, SECOND].map(|slot| open(one, slot));
        assert_eq!([newer, first, second].map(is_old), [true, false, false]);
        let again = open(one, FIRST);
        assert_eq!([first, second, again].map(is_old), [true, false, false]);
        let whole = open(one, Slot::WHOLE);
        assert_eq!([second, again, whole].map(is_old), [true, true, false]);
    }
}
