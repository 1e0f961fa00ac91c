//! An attempt as the handler of messages.

use std::fmt;
use std::sync::Arc;

use super::{Attempt, Stack};
use crate::{Handler, Kv, MessageView, Preparing, Status, Step};

/// Runs a function on a snapshot as the first half, and commits what it staged as the second, in the transaction that
/// removes the message.
///
/// When something it read has changed in between, the function runs once more on the write transaction itself, where
/// nothing can change under it.
pub struct AttemptHandler<K, F> {
    kv: K,
    body: Arc<F>,
}

impl<K, F> AttemptHandler<K, F>
where
    K: Kv,
    F: Fn(&MessageView<'_>, &mut Attempt<'_, K::Tx>) -> Result<(), Status> + Send + Sync + 'static,
{
    pub fn new(kv: K, body: F) -> Self {
        Self {
            kv,
            body: Arc::new(body),
        }
    }
}

impl<K, F> Handler<K::Tx> for AttemptHandler<K, F>
where
    K: Kv,
    F: Fn(&MessageView<'_>, &mut Attempt<'_, K::Tx>) -> Result<(), Status> + Send + Sync + 'static,
{
    type Prepared = Stack;

    fn prepare(&self, message: &MessageView<'_>, _: &Preparing<'_>) -> Result<Stack, Status> {
        let (body, message) = (Arc::clone(&self.body), message.to_message());
        self.kv.read(move |tx| {
            let mut stack = Stack::new();
            body(&message.view(), &mut Attempt::new(tx, &mut stack))?;
            stack.check_single()?;
            Ok(stack)
        })
    }

    fn apply(
        &self,
        prepared: &Stack,
        message: &MessageView<'_>,
        tx: &mut K::Tx,
        step: &mut Step,
    ) -> Result<(), Status> {
        let mut again = Stack::new();
        let stack = match prepared.validate(tx) {
            Ok(()) => prepared,
            Err(Status::Conflict) => {
                (self.body)(message, &mut Attempt::new(tx, &mut again))?;
                &again
            }
            Err(other) => return Err(other),
        };
        stack.apply(tx)?;
        stack
            .intents()
            .iter()
            .try_for_each(|intent| step.push(intent.clone()))
    }
}

impl<K, F> fmt::Debug for AttemptHandler<K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptHandler").finish_non_exhaustive()
    }
}
