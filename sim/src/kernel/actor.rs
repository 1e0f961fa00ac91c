//! The handler of this world: does what the script of a frame says, and leaves a mark when it takes effect.

use std::sync::{Arc, Weak};

use kiln_kernel::{Handler, Kv as _, KvTx, MessageView, Preparing, Slot, Status, Step, retries};
use kiln_store::Tx;

use super::content::{EFFECTS, Effect};
use super::script::{Failing, Script};
use super::stage::Stage;

#[derive(Debug)]
pub(super) struct Actor {
    /// Weak, because the stage has the runners that have this.
    pub(super) stage: Weak<Stage>,
    pub(super) owner: u64,
    pub(super) number: usize,
}

impl Handler<dyn Tx> for Actor {
    type Prepared = Script;

    fn prepare(
        &self,
        message: &MessageView<'_>,
        preparing: &Preparing<'_>,
    ) -> Result<Script, Status> {
        let stage = self.stage()?;
        let script = Script::read(message.payload)?;
        if let Some(slot) = preparing.slot() {
            self.enter(&stage, slot);
        }
        stage.interleave(self.number);
        let id = message.id.to_vec();
        let failed = stage.ledger()?.read(move |tx| retries::count(tx, &id))?;
        if script.failing == Failing::Preparing && failed.0 < u32::from(script.failures) {
            return Err(Status::Error("the script says so, first half".into()));
        }
        Ok(script)
    }

    fn apply(
        &self,
        script: &Script,
        message: &MessageView<'_>,
        tx: &mut (dyn Tx + 'static),
        step: &mut Step,
    ) -> Result<(), Status> {
        let stage = self.stage()?;
        let id = String::from_utf8_lossy(message.id).into_owned();
        let order = stage.book().next_order();
        let effect = Effect {
            order,
            at: step.now(),
            due: match step.slot() {
                Some(Slot::Timer(key)) => Some(key.due),
                Some(Slot::Inbox(_)) | None => None,
            },
        };
        let count = tx.scan(EFFECTS, id.as_bytes(), None, usize::MAX)?;
        let earlier = count.iter().filter(|(key, _)| Effect::is_of(key, &id));
        let key = Effect::key(&id, earlier.count());
        tx.put(EFFECTS, &key, &effect.to_bytes())?;
        if script.child {
            let child = Script::PLAIN.message(step.worker(), &Script::child_of(&id), false);
            step.send(&child.view())?;
        }
        if retries::count(tx, message.id)?.0 < u32::from(script.failures) {
            match script.failing {
                Failing::Preparing => {}
                Failing::Quietly => return Err(Status::Busy),
                Failing::Loudly => {
                    return Err(Status::Error("the script says so, second half".into()));
                }
            }
        }
        Ok(())
    }
}

impl Actor {
    fn stage(&self) -> Result<Arc<Stage>, Status> {
        self.stage
            .upgrade()
            .ok_or_else(|| Status::Error("the stage is gone".into()))
    }

    /// K7: whoever prepares a slot does so alone, as long as its lease lasts.
    fn enter(&self, stage: &Stage, slot: Slot) {
        let now = stage.now();
        let lease = stage.lease(slot);
        let mut book = stage.book();
        if let Some((other, until)) = book.preparing.get(&slot).copied()
            && other != self.number
            && now <= until
        {
            let detail = format!(
                "runner {} prepares {slot:?} while runner {other} does",
                self.number
            );
            book.break_promise("K7", detail);
        }
        if let Some(lease) = lease.filter(|lease| lease.owner == self.owner) {
            book.preparing.insert(slot, (self.number, lease.deadline));
        }
    }
}
