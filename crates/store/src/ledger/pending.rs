//! An answer that is on its way: awaited by async code, waited for by plain threads.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// The answer of a closure given to the [`Ledger`](crate::Ledger) or the [`Reader`](crate::Reader).
///
/// A closure that found a place in the queue runs whether or not anyone waits for it. When the queue was full it finds its place
/// only while someone does: always await, or [`wait`](Self::wait).
#[must_use = "a closure may not run until its answer is awaited"]
pub struct Pending<R, E> {
    answer: Answer<R, E>,
}

enum Answer<R, E> {
    Ready(Option<Result<R, E>>),
    Later(Pin<Box<dyn Future<Output = Result<R, E>> + Send>>),
}

impl<R, E> Pending<R, E> {
    /// Blocks this thread until the answer is there. Not for async code, which would block its executor.
    pub fn wait(self) -> Result<R, E> {
        match self.answer {
            Answer::Ready(answer) => {
                answer.expect("only polling takes it, and polling needs a pinned borrow")
            }
            Answer::Later(future) => block_on(future),
        }
    }

    pub(crate) fn ready(answer: Result<R, E>) -> Self {
        Self {
            answer: Answer::Ready(Some(answer)),
        }
    }

    pub(crate) fn later(future: impl Future<Output = Result<R, E>> + Send + 'static) -> Self {
        Self {
            answer: Answer::Later(Box::pin(future)),
        }
    }
}

/// Nothing is pinned in place: the future has a box of its own.
impl<R, E> Unpin for Pending<R, E> {}

impl<R, E> Future for Pending<R, E> {
    type Output = Result<R, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.answer {
            Answer::Ready(answer) => Poll::Ready(answer.take().expect("polled after it was ready")),
            Answer::Later(future) => future.as_mut().poll(context),
        }
    }
}

impl<R, E> fmt::Debug for Pending<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

/// Runs a future on this thread, parking between its wake-ups.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
