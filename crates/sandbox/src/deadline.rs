//! When to lose patience with a chamber, and how.
//!
//! ```text
//! Sealing ──started──▶ Running ──time is up, canceled──▶ Asked ──grace is over──▶ Forced ──▶ destroy
//!    │                    │                                │                        │
//!    ╰─▶ destroy          ╰──────────── exited ────────────┴────────────────────────┴─▶ Collecting ──▶ destroy
//! ```

use std::time::Duration;

use kiln_model::Millis;

/// Sealing takes milliseconds; a host that needs this long is broken.
const SEALING: Duration = Duration::from_secs(30);

/// From SIGKILL to the guest's report; after that the guest itself is killed.
const DYING: Duration = Duration::from_secs(5);

/// For the files after the command's end. With what may come before it, this ends within the minute that servers wait
/// beyond a job's timeout.
const COLLECTING: Duration = Duration::from_secs(40);

/// Why a run was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    TimedOut,
    Canceled,
}

/// What to do to the chamber now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Ask,
    Force,
    Destroy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Sealing,
    Running,
    Asked,
    Forced,
    Collecting,
}

#[derive(Debug)]
pub(crate) struct Deadlines {
    timeout: Option<Duration>,
    grace: Duration,
    phase: Phase,
    alarm: Option<Millis>,
    cause: Option<Cause>,
}

impl Deadlines {
    pub(crate) fn new(now: Millis, timeout: Option<Duration>, grace: Duration) -> Self {
        Self {
            timeout,
            grace,
            phase: Phase::Sealing,
            alarm: Some(now + SEALING),
            cause: None,
        }
    }

    /// When to call [`Self::check`] at the latest.
    pub(crate) fn next_alarm(&self) -> Option<Millis> {
        self.alarm
    }

    pub(crate) fn cause(&self) -> Option<Cause> {
        self.cause
    }

    pub(crate) fn started(&mut self, now: Millis) {
        self.enter(Phase::Running, self.timeout.map(|timeout| now + timeout));
    }

    /// The command is gone. A canceled one has no files worth waiting for.
    pub(crate) fn exited(&mut self, now: Millis) -> Option<Action> {
        self.enter(Phase::Collecting, Some(now + COLLECTING));
        (self.cause == Some(Cause::Canceled)).then_some(Action::Destroy)
    }

    pub(crate) fn cancel(&mut self, now: Millis) -> Option<Action> {
        match self.phase {
            Phase::Running => Some(self.stop(now, Cause::Canceled)),
            Phase::Sealing | Phase::Collecting => {
                self.cause = Some(Cause::Canceled);
                Some(Action::Destroy)
            }
            Phase::Asked | Phase::Forced => None,
        }
    }

    pub(crate) fn check(&mut self, now: Millis) -> Option<Action> {
        if self.alarm.is_none_or(|alarm| now < alarm) {
            return None;
        }
        match self.phase {
            Phase::Running => Some(self.stop(now, Cause::TimedOut)),
            Phase::Asked => Some(self.force(now)),
            Phase::Sealing | Phase::Forced | Phase::Collecting => Some(Action::Destroy),
        }
    }

    fn stop(&mut self, now: Millis, cause: Cause) -> Action {
        self.cause = Some(cause);
        if self.grace.is_zero() {
            return self.force(now);
        }
        self.enter(Phase::Asked, Some(now + self.grace));
        Action::Ask
    }

    fn force(&mut self, now: Millis) -> Action {
        self.enter(Phase::Forced, Some(now + DYING));
        Action::Force
    }

    fn enter(&mut self, phase: Phase, alarm: Option<Millis>) {
        self.phase = phase;
        self.alarm = alarm;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(grace_ms: u64) -> Deadlines {
        let mut deadlines = Deadlines::new(
            Millis(0),
            Some(Duration::from_millis(100)),
            Duration::from_millis(grace_ms),
        );
        deadlines.started(Millis(1000));
        deadlines
    }

    #[test]
    fn a_timeout_counts_from_the_start_and_asks_before_it_forces() {
        let mut deadlines = running(50);
        assert_eq!(deadlines.check(Millis(1099)), None);
        assert_eq!(deadlines.check(Millis(1100)), Some(Action::Ask));
        assert_eq!(deadlines.check(Millis(1149)), None);
        assert_eq!(deadlines.check(Millis(1150)), Some(Action::Force));
        assert_eq!(deadlines.cause(), Some(Cause::TimedOut));
    }

    #[test]
    fn without_grace_there_is_no_asking() {
        assert_eq!(running(0).check(Millis(1100)), Some(Action::Force));
    }

    #[test]
    fn a_chamber_that_survives_force_is_destroyed() {
        let mut deadlines = running(0);
        deadlines.check(Millis(1100));
        let alarm = deadlines.next_alarm().unwrap();
        assert_eq!(deadlines.check(alarm), Some(Action::Destroy));
    }

    #[test]
    fn a_cancel_after_the_timeout_does_not_change_its_cause() {
        let mut deadlines = running(50);
        deadlines.check(Millis(1100));
        assert_eq!(deadlines.cancel(Millis(1101)), None);
        assert_eq!(deadlines.cause(), Some(Cause::TimedOut));
    }

    #[test]
    fn a_cancel_before_the_start_destroys_at_once() {
        let mut deadlines = Deadlines::new(Millis(0), None, Duration::ZERO);
        assert_eq!(deadlines.cancel(Millis(1)), Some(Action::Destroy));
        assert_eq!(deadlines.cause(), Some(Cause::Canceled));
    }

    #[test]
    fn a_canceled_command_is_not_waited_for_any_longer_once_it_is_gone() {
        let mut deadlines = running(50);
        deadlines.cancel(Millis(1001));
        assert_eq!(deadlines.exited(Millis(1002)), Some(Action::Destroy));
    }

    #[test]
    fn a_deaf_command_and_its_files_take_less_than_a_minute_after_the_timeout() {
        let mut deadlines = running(5_000);
        let timeout = deadlines.next_alarm().unwrap();
        deadlines.check(timeout);
        let deaf = deadlines.next_alarm().unwrap();
        assert_eq!(deadlines.check(deaf), Some(Action::Force));
        let dead = deadlines.next_alarm().unwrap();
        deadlines.exited(dead);
        let collected = deadlines.next_alarm().unwrap();
        assert!(collected.since(timeout) < Duration::from_mins(1));
    }

    #[test]
    fn a_command_without_a_timeout_has_no_alarm() {
        let mut deadlines = Deadlines::new(Millis(0), None, Duration::ZERO);
        deadlines.started(Millis(5));
        assert_eq!(deadlines.next_alarm(), None);
        assert_eq!(deadlines.check(Millis::MAX), None);
    }

    #[test]
    fn sealing_that_never_ends_is_given_up_without_a_cause() {
        let mut deadlines = Deadlines::new(Millis(0), None, Duration::ZERO);
        let alarm = deadlines.next_alarm().unwrap();
        assert_eq!(deadlines.check(alarm), Some(Action::Destroy));
        assert_eq!(deadlines.cause(), None);
    }
}
