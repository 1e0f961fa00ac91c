//! Whether a runner is there.

use std::time::Duration;

use kiln_model::Millis;
use kiln_model::v0::RunnerState;
use kiln_store::Query;
use kiln_store::sql::job;
use kiln_store::sql::runner::Runner;

use crate::Denied;

/// Idle runners speak at least once a minute.
const PATIENCE: Duration = Duration::from_mins(2);

/// Whether an idle runner that was last heard then still counts as there.
pub(crate) fn is_heard(last: Option<Millis>, wall: Millis) -> bool {
    last.is_some_and(|heard| wall < heard + PATIENCE)
}

/// What a runner does, as far as one can tell. `wall` is now.
pub fn state<Q: Query + ?Sized>(
    query: &mut Q,
    runner: &Runner,
    wall: Millis,
) -> Result<RunnerState, Denied> {
    // Of one that holds a job, heartbeats are about the job.
    Ok(if job::is_held_by(query, runner.id)? {
        RunnerState::Busy
    } else if is_heard(runner.last_heartbeat, wall) {
        RunnerState::Idle
    } else {
        RunnerState::Away
    })
}

#[cfg(test)]
mod tests {
    use kiln_model::Kind;
    use kiln_store::sql::runner;

    use super::*;
    use crate::testing::World;

    #[test]
    fn a_runner_is_away_until_it_is_heard_and_busy_with_a_job() {
        let world = World::new();
        let one = world.runner("one");
        let state_after = |waited: Duration| {
            let wall = world.store.ledger.wall() + waited;
            world.write(move |tx| {
                let found = runner::find(tx, one)?.unwrap();
                state(tx, &found, wall)
            })
        };
        assert_eq!(state_after(Duration::ZERO), RunnerState::Away);
        let wall = world.store.ledger.wall();
        world.write(move |tx| Ok(runner::heard(tx, one, wall)?));
        assert_eq!(state_after(Duration::ZERO), RunnerState::Idle);
        assert_eq!(state_after(PATIENCE), RunnerState::Away);
        world.submit(world.ask(Kind::Bench));
        world.claim(one).unwrap();
        assert_eq!(state_after(PATIENCE), RunnerState::Busy);
    }
}
