//! What is looked after now and then, whether or not anybody asks: the registry lets go of what nobody needs.
//!
//! One timer, and while it has work to do one frame for each page of it.

use std::fmt;
use std::time::Duration;

use kiln_model::Millis;
use kiln_store::sql::setting;
use kiln_store::{Error, Tx};

use crate::Denied;
use crate::tasks::{self, Task};

/// Often enough that rubbish does not pile up, seldom enough to cost nothing.
const EVERY: Duration = Duration::from_hours(1);
/// When the timer is due, in kernel time.
const SETTING: &str = "housekeeping.due";

/// Does the work, outside any transaction of the kernel's. A page may be done twice.
pub trait Housekeeper: Send + Sync + fmt::Debug {
    /// Does one page, the first if none is given; answers where the next begins.
    fn page(&self, from: Option<&str>) -> Result<Option<String>, Error>;
}

/// There is nothing to look after.
#[derive(Clone, Copy, Debug)]
pub struct NoHousekeeping;

impl Housekeeper for NoHousekeeping {
    fn page(&self, _: Option<&str>) -> Result<Option<String>, Error> {
        Ok(None)
    }
}

/// Arms the timer unless it is armed. One that should have fired long ago spent its retries.
pub fn ensure(tx: &mut dyn Tx) -> Result<(), Denied> {
    let now = tx.now();
    match due(tx)? {
        Some(due) if now < due + 2 * EVERY => Ok(()),
        _ => arm(tx),
    }
}

/// A page was done: the next follows, or the timer.
pub(crate) fn turn(tx: &mut dyn Tx, next: Option<String>) -> Result<(), Denied> {
    if next.is_some() {
        return tasks::send(tx, &Task::Housekeeping { from: next });
    }
    // A timer that fired late may find that it was replaced meanwhile; then there is one already.
    let now = tx.now();
    match due(tx)? {
        Some(due) if now < due => Ok(()),
        _ => arm(tx),
    }
}

fn due(tx: &mut dyn Tx) -> Result<Option<Millis>, Denied> {
    let stored = setting::get(tx, SETTING)?;
    Ok(stored.and_then(|text| text.parse().ok()).map(Millis))
}

fn arm(tx: &mut dyn Tx) -> Result<(), Denied> {
    let due = tx.now() + EVERY;
    tasks::arm(tx, due, &Task::Housekeeping { from: None })?;
    setting::put(tx, SETTING, &due.0.to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[test]
    fn it_comes_round_every_hour_page_by_page() {
        let world = World::new();
        world.write(ensure);
        world.write(ensure);
        world.tick();
        assert_eq!(world.pages(), 0);
        for round in 1..=3 {
            world.pass(EVERY);
            assert_eq!(world.pages(), round * World::PAGES);
        }
    }

    #[test]
    fn a_timer_that_was_lost_is_armed_again_at_the_next_start() {
        let world = World::new();
        world.write(|tx| Ok(setting::put(tx, SETTING, "0")?));
        world.pass(3 * EVERY);
        assert_eq!(world.pages(), 0);
        world.write(ensure);
        world.pass(EVERY);
        assert_eq!(world.pages(), World::PAGES);
    }
}
