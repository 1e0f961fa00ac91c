//! Switches that break a guard on purpose, so that the simulator can prove that it would notice. Not in a normal build.

use std::cell::Cell;

/// A guard that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// I1: every claim opens a new epoch.
    EpochGrowth,
    /// I2: only the holder of the current epoch is listened to.
    Fencing,
    /// B1: a job that never ran owes nothing.
    BillFromStart,
    /// A job that does not share has its runner to itself.
    Exclusivity,
}

thread_local! {
    static OFF: Cell<Option<Guard>> = const { Cell::new(None) };
}

/// Switches `guard` off for what `body` does on this thread.
pub fn without<R>(guard: Guard, body: impl FnOnce() -> R) -> R {
    OFF.set(Some(guard));
    let result = body();
    OFF.set(None);
    result
}

pub(crate) fn is_on(guard: Guard) -> bool {
    OFF.get() == Some(guard)
}
