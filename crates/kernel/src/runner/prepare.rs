//! The first half of every claimed frame, outside any transaction.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kiln_model::Millis;

use super::job::{Claimed, Job, Ready};
use super::renew::Held;
use crate::handler::{Handler, Preparing};
use crate::{Kv, KvTx, MessageView, Status};

/// Prepares one frame after the other, and then waits for what goes on by itself. The answer includes the clock after the last one, which is the time of the
/// transaction that follows.
pub(super) fn all<K: Kv, H: Handler<K::Tx>>(
    kv: &K,
    handler: &H,
    worker: u64,
    held: &Held,
    claims: Vec<Claimed>,
    clock: &dyn Fn() -> Millis,
) -> (Vec<Job<H::Prepared>>, Millis) {
    let mut jobs = Vec::with_capacity(claims.len());
    let mut now = clock();
    for claimed in claims {
        let prepared_at = now;
        let keep = || held.renew(kv, clock()).map(drop);
        let preparing = Preparing {
            now,
            worker,
            slot: Some(claimed.slot),
            keep: &keep,
        };
        let ready = one::<K::Tx, H>(handler, worker, &claimed, &preparing);
        now = clock();
        // A renewal that fails is no reason to stop: the token decides, in the transaction.
        held.renew(kv, now).ok();
        let prepare_ms = elapsed_ms(prepared_at, now);
        jobs.push(Job {
            claimed,
            ready,
            prepared_at,
            prepare_ms,
        });
    }
    (jobs, now)
}

pub(super) fn elapsed_ms(from: Millis, to: Millis) -> u64 {
    to.0.saturating_sub(from.0).max(0).unsigned_abs()
}

/// A panic of a handler is a failure of its message and of nothing else.
pub(super) fn caught<R>(run: impl FnOnce() -> Result<R, Status>) -> Result<R, Status> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        Err(Status::Error(format!(
            "the handler panicked: {}",
            panic_text(panic.as_ref())
        )))
    })
}

fn one<T, H>(
    handler: &H,
    worker: u64,
    claimed: &Claimed,
    preparing: &Preparing<'_>,
) -> Ready<H::Prepared>
where
    T: KvTx + ?Sized,
    H: Handler<T>,
{
    let message = match MessageView::decode(&claimed.frame) {
        Ok(message) => message,
        Err(wire) => return Ready::Undecodable(wire),
    };
    if !message.is_for(worker) {
        return Ready::Refused(Status::NotFound);
    }
    if claimed.repeated {
        return Ready::Repeated;
    }
    match caught(|| handler.prepare(&message, preparing)) {
        Ok(prepared) => Ready::Prepared(prepared),
        Err(refused) => Ready::Refused(refused),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a word")
}
