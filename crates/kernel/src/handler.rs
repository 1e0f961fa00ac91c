//! What a program does with a message, in two halves.

use std::fmt;
use std::marker::PhantomData;

use kiln_model::Millis;

use crate::slot::Slot;
use crate::{KvTx, MessageView, Status, Step};

/// Two halves, because nothing slow may happen inside a write transaction and nothing lasting outside one.
///
/// `T` is the transaction of the store: a handler for any store is generic over it, a handler that speaks SQL names the
/// type of its store.
///
/// [`Status::Busy`] and [`Status::Conflict`] are for transient trouble and are retried quietly. Any other error is
/// retried too, within the same budget, but it is also returned to whoever polls.
pub trait Handler<T: KvTx + ?Sized>: Send + Sync + 'static {
    /// What the first half hands to the second.
    type Prepared: Send + 'static;

    /// Runs outside any transaction, may be slow and may do I/O. It can be repeated (a crash, a retry, a lost claim), so
    /// what it does to the outside must be safe to repeat.
    fn prepare(
        &self,
        message: &MessageView<'_>,
        preparing: &Preparing<'_>,
    ) -> Result<Self::Prepared, Status>;

    /// Runs inside the transaction that also removes the frame. Everything it writes commits with that or not at all. It
    /// may be run again with the same arguments, and must have no effect outside the transaction.
    fn apply(
        &self,
        prepared: &Self::Prepared,
        message: &MessageView<'_>,
        tx: &mut T,
        step: &mut Step,
    ) -> Result<(), Status>;
}

/// Where a message stands while it is prepared.
pub struct Preparing<'a> {
    pub(crate) now: Millis,
    pub(crate) worker: u64,
    pub(crate) slot: Option<Slot>,
    pub(crate) keep: &'a dyn Fn() -> Result<(), Status>,
}

impl Preparing<'_> {
    /// When this half began.
    pub fn now(&self) -> Millis {
        self.now
    }

    pub fn worker(&self) -> u64 {
        self.worker
    }

    pub fn slot(&self) -> Option<Slot> {
        self.slot
    }

    /// Renews the claim if half of its time is gone. Something that takes longer than a lease calls this now and then,
    /// so that no other worker takes the message over meanwhile.
    pub fn keep_alive(&self) -> Result<(), Status> {
        (self.keep)()
    }
}

impl fmt::Debug for Preparing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preparing")
            .field("now", &self.now)
            .field("worker", &self.worker)
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

/// A handler that has nothing to prepare.
pub struct ApplyOnly<F, T: ?Sized> {
    apply: F,
    transaction: PhantomData<fn(&mut T)>,
}

/// Makes a handler of one function that runs inside the transaction.
pub fn apply_only<T, F>(apply: F) -> ApplyOnly<F, T>
where
    T: KvTx + ?Sized,
    F: Fn(&MessageView<'_>, &mut T, &mut Step) -> Result<(), Status> + Send + Sync + 'static,
{
    ApplyOnly {
        apply,
        transaction: PhantomData,
    }
}

impl<T, F> Handler<T> for ApplyOnly<F, T>
where
    T: KvTx + ?Sized + 'static,
    F: Fn(&MessageView<'_>, &mut T, &mut Step) -> Result<(), Status> + Send + Sync + 'static,
{
    type Prepared = ();

    fn prepare(&self, _: &MessageView<'_>, _: &Preparing<'_>) -> Result<(), Status> {
        Ok(())
    }

    fn apply(
        &self,
        (): &(),
        message: &MessageView<'_>,
        tx: &mut T,
        step: &mut Step,
    ) -> Result<(), Status> {
        (self.apply)(message, tx, step)
    }
}

impl<F, T: ?Sized> fmt::Debug for ApplyOnly<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApplyOnly").finish_non_exhaustive()
    }
}
