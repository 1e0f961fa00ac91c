//! Guards that can be taken away, one at a time, to show that the simulator notices. Only in builds with the feature
//! `sabotage`; the default build does not contain this module.

use std::cell::Cell;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// K2: a handler's effects and the ack of its row commit separately.
    ApplyOutsideTransaction,
    /// K3: timers fire a minute before they are due.
    FireEarly,
    /// K3: a cancelled timer stays.
    ForgetTimerCancel,
    /// K5: failures are counted and nothing follows from it.
    IgnoreBudget,
}

/// How much too early timers fire under [`Switch::FireEarly`].
pub const EARLY_MS: i64 = 60_000;

thread_local! {
    static ON: Cell<u8> = const { Cell::new(0) };
}

/// Takes a guard away on this thread until the answer is dropped.
///
/// The runner looks at the switches on the thread that polls; [`crate::timers::cancel`] on the thread that runs the
/// transaction.
#[must_use = "the guard comes back when this is dropped"]
pub fn switch_on(switch: Switch) -> Sabotaged {
    let before = ON.get();
    ON.set(before | bit(switch));
    Sabotaged { before }
}

pub fn is_on(switch: Switch) -> bool {
    ON.get() & bit(switch) != 0
}

#[derive(Debug)]
pub struct Sabotaged {
    before: u8,
}

impl Drop for Sabotaged {
    fn drop(&mut self) {
        ON.set(self.before);
    }
}

const fn bit(switch: Switch) -> u8 {
    match switch {
        Switch::ApplyOutsideTransaction => 1,
        Switch::FireEarly => 2,
        Switch::ForgetTimerCancel => 4,
        Switch::IgnoreBudget => 8,
    }
}
