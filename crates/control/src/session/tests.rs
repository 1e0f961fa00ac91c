//! What becomes of actions when their session ends, or begins again.

use kiln_model::{Kind, Status};

use crate::session;
use crate::testing::World;

#[test]
fn an_abandoned_session_takes_its_actions_along() {
    let world = World::new();
    let action = world.submit(world.ask(Kind::Action));
    world.write(session::abandon);
    world.tick();
    assert_eq!(world.status(action), Status::Abandoned);
}

#[test]
fn a_session_that_was_opened_again_abandons_nothing() {
    let world = World::new();
    world.submit(world.ask(Kind::Action));
    world.write(session::abandon);
    // The frame that abandons the next batch still waits.
    world.write(session::reopen);
    let action = world.submit(world.ask(Kind::Action));
    world.tick();
    assert_eq!(world.path(action), [Status::Pending]);
}
