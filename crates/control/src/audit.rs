//! The record of administrative changes, written in the transaction that makes them.

use std::fmt::Display;

use kiln_store::sql::audit;
use kiln_store::{Error, Tx};

use crate::access::Caller;

/// `action` is a noun and a verb, such as `runner.archive`; `subject` is a kind and an id, such as `runner:01a1…`.
pub(crate) fn record(
    tx: &mut dyn Tx,
    caller: &Caller,
    action: &str,
    kind: &str,
    id: impl Display,
) -> Result<(), Error> {
    audit::append(tx, &caller.actor(), action, &format!("{kind}:{id}"), None)
}

pub(crate) fn record_detail(
    tx: &mut dyn Tx,
    caller: &Caller,
    action: &str,
    subject: &str,
    detail: &str,
) -> Result<(), Error> {
    audit::append(tx, &caller.actor(), action, subject, Some(detail))
}
