//! A closure on its way through the ledger, with the promise to answer it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::oneshot;

use crate::{Error, Tx};

/// A closure whose types are forgotten.
pub(crate) trait Task: Send {
    /// Runs the closure, again if it ran before; tells whether it wants its changes kept.
    fn run(&mut self, tx: &mut (dyn Tx + 'static)) -> bool;
    /// Replaces what the closure answered.
    fn overrule(&mut self, error: Error);
    /// Answers what the closure said, or the error that kept it from being committed.
    fn answer(self: Box<Self>, fate: Result<(), Error>);
}

/// Makes a task of a closure, and the receiver of its answer.
pub(crate) fn task<R, E, F>(body: F) -> (Box<dyn Task>, oneshot::Receiver<Result<R, E>>)
where
    F: FnMut(&mut (dyn Tx + 'static)) -> Result<R, E> + Send + 'static,
    R: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    (
        Box::new(Closure {
            body,
            outcome: None,
            reply,
            panicked: false,
        }),
        answer,
    )
}

struct Closure<R, E, F> {
    body: F,
    outcome: Option<Result<R, E>>,
    reply: oneshot::Sender<Result<R, E>>,
    panicked: bool,
}

impl<R, E, F> Task for Closure<R, E, F>
where
    F: FnMut(&mut (dyn Tx + 'static)) -> Result<R, E> + Send,
    R: Send,
    E: From<Error> + Send,
{
    fn run(&mut self, tx: &mut (dyn Tx + 'static)) -> bool {
        // What a panic left behind in the closure's own state is unknown, so it never runs again.
        if self.panicked {
            return false;
        }
        // The transaction is rolled back to the closure's frame, and the closure is not used again.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.body)(tx)));
        let outcome = outcome.unwrap_or_else(|payload| {
            self.panicked = true;
            let message = panic_message(payload.as_ref());
            tracing::error!(%message, "a closure of the ledger panicked");
            Err(E::from(Error::Panicked { message }))
        });
        let keep = outcome.is_ok();
        self.outcome = Some(outcome);
        keep
    }

    fn overrule(&mut self, error: Error) {
        self.outcome = Some(Err(E::from(error)));
    }

    fn answer(self: Box<Self>, fate: Result<(), Error>) {
        let outcome = match fate {
            Ok(()) => self.outcome.unwrap_or_else(|| Err(E::from(Error::Closed))),
            Err(error) => Err(E::from(error)),
        };
        // Nobody may be waiting any more; the change stands all the same.
        drop(self.reply.send(outcome));
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
        .to_owned()
}
