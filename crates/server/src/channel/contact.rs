//! That a runner was here, and what it told about itself.

use kiln_control::{Credential, Denied};
use kiln_model::Millis;
use kiln_model::v0::RunnerMetadata;
use kiln_store::Tx;
use kiln_store::sql::runner::{self, Runner};

use super::words;
use crate::app::App;

#[derive(Clone, Debug)]
pub(super) struct Contact {
    credential: Credential,
    /// As JSON.
    told: Option<String>,
    wall: Millis,
}

impl Contact {
    pub(super) fn new(app: &App, runner: &Runner, metadata: Option<&RunnerMetadata>) -> Self {
        let told =
            metadata.map(|told| serde_json::to_string(told).expect("metadata are plain data"));
        Self {
            credential: words::credential(runner),
            told,
            wall: app.wall(),
        }
    }

    /// That a runner asks for work again is noted in memory, and written with that of others. With what it tells about itself
    /// this answers itself, to be written down now.
    pub(super) fn unless_brief(self, app: &App) -> Option<Self> {
        if self.told.is_some() {
            return Some(self);
        }
        app.contacts.hear(self.credential.runner, self.wall);
        None
    }

    /// Notes it, if the runner's key is still good.
    pub(super) fn note(&self, tx: &mut dyn Tx) -> Result<(), Denied> {
        let Credential { runner, .. } = self.credential;
        self.credential.check(tx)?;
        if let Some(told) = &self.told {
            runner::introduced(tx, runner, told)?;
        }
        Ok(runner::heard(tx, runner, self.wall)?)
    }

    /// The same in a transaction of its own.
    pub(super) async fn keep(self, app: &App) -> Result<(), Denied> {
        let note = move |tx: &mut dyn Tx| self.note(tx);
        app.store.ledger.submit(note).await
    }
}
