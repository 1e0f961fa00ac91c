//! What a transaction remembers besides its rows: its nested frames, the bells of each, and a statement that failed.

use crate::{Bell, DatabaseErrorKind, Error};

#[derive(Debug, Default)]
pub(crate) struct Frames {
    bells: Vec<Bell>,
    /// How many bells there were when each open frame began.
    marks: Vec<usize>,
    /// Frames below this depth are not the closure's to close.
    base: usize,
    /// The depth at which a statement failed, and how.
    failure: Option<(usize, Error)>,
    /// The depth at which the kernel lock was taken: a rollback below it gives the lock up.
    kernel_lock: Option<usize>,
}

impl Frames {
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// The frames opened so far belong to the ledger: a closure cannot close them.
    pub(crate) fn protect(&mut self) {
        self.base = self.marks.len();
    }

    pub(crate) fn unprotect(&mut self) {
        self.base = 0;
    }

    /// How many frames the closure has open.
    pub(crate) fn depth(&self) -> usize {
        self.marks.len().saturating_sub(self.base)
    }

    pub(crate) fn is_balanced(&self) -> bool {
        self.depth() == 0
    }

    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref().map(|(_, error)| error)
    }

    /// Refuses to go on after a failed statement.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.failure().map_or(Ok(()), |error| Err(error.clone()))
    }

    pub(crate) fn fail(&mut self, error: Error) -> Error {
        let depth = self.marks.len();
        self.failure.get_or_insert_with(|| (depth, error.clone()));
        error
    }

    pub(crate) fn may_close(&self) -> Result<(), Error> {
        if self.marks.len() > self.base {
            return Ok(());
        }
        Err(Error::database(
            DatabaseErrorKind::Other,
            "no nested frame is open",
        ))
    }

    pub(crate) fn opened(&mut self) {
        self.marks.push(self.bells.len());
    }

    pub(crate) fn kept(&mut self) {
        self.marks.pop();
        let depth = self.marks.len();
        if let Some(locked_at) = &mut self.kernel_lock {
            *locked_at = depth.min(*locked_at);
        }
    }

    pub(crate) fn undone(&mut self) {
        let mark = self.marks.pop().unwrap_or_default();
        self.bells.truncate(mark);
        let depth = self.marks.len();
        if self.failure.as_ref().is_some_and(|(at, _)| *at > depth) {
            self.failure = None;
        }
        if self.kernel_lock.is_some_and(|at| at > depth) {
            self.kernel_lock = None;
        }
    }

    pub(crate) fn kernel_is_locked(&self) -> bool {
        self.kernel_lock.is_some()
    }

    pub(crate) fn kernel_locked(&mut self) {
        self.kernel_lock = Some(self.marks.len());
    }

    pub(crate) fn ring(&mut self, bell: Bell) {
        self.bells.push(bell);
    }

    pub(crate) fn take_bells(&mut self) -> Vec<Bell> {
        std::mem::take(&mut self.bells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Error {
        Error::database(DatabaseErrorKind::Constraint, "taken")
    }

    #[test]
    fn an_undone_frame_takes_its_bells_with_it() {
        let mut frames = Frames::default();
        frames.ring(Bell::Kernel);
        frames.opened();
        frames.ring(Bell::Job(1));
        frames.undone();
        assert_eq!(frames.take_bells(), [Bell::Kernel]);
    }

    #[test]
    fn a_failure_ends_with_the_frame_it_happened_in() {
        let mut frames = Frames::default();
        frames.opened();
        frames.fail(failed());
        assert!(frames.check().is_err());
        frames.undone();
        assert!(frames.check().is_ok());
    }

    #[test]
    fn a_failure_outlives_the_frames_inside_it() {
        let mut frames = Frames::default();
        frames.fail(failed());
        frames.opened();
        frames.undone();
        assert!(frames.check().is_err());
    }

    #[test]
    fn a_closure_cannot_close_the_frame_of_the_ledger() {
        let mut frames = Frames::default();
        frames.opened();
        frames.protect();
        assert!(frames.may_close().is_err());
        frames.opened();
        assert!(frames.may_close().is_ok());
    }

    #[test]
    fn a_kernel_lock_lasts_as_long_as_the_frame_that_took_it() {
        let mut frames = Frames::default();
        frames.opened();
        frames.opened();
        frames.kernel_locked();
        frames.kept();
        assert!(frames.kernel_is_locked());
        frames.undone();
        assert!(!frames.kernel_is_locked());
    }
}
