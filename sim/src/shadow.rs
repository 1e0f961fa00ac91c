//! What was promised to whom, kept outside the database.

use std::collections::{BTreeMap, BTreeSet};

use kiln_model::{Digest, Millis};

use crate::note::Note;

#[derive(Debug, Default)]
pub(crate) struct Shadow {
    pub(crate) submitted: BTreeSet<i64>,
    pub(crate) told_canceled: BTreeSet<i64>,
    /// Results that a runner saw acknowledged, by job and epoch.
    pub(crate) accepted: BTreeMap<(i64, i64), (Digest, Vec<u8>)>,
    /// What was uploaded beside them.
    pub(crate) uploaded: BTreeMap<(i64, i64), String>,
    /// When the holder of a job and epoch was last heard, as far as that is durable; kernel time.
    pub(crate) heard: BTreeMap<(i64, i64), Millis>,
    /// Which lanes a runner serves.
    pub(crate) lanes: BTreeMap<i64, Vec<i64>>,
}

impl Shadow {
    pub(crate) fn take(&mut self, notes: &[Note], now: Option<Millis>) {
        for note in notes {
            match note {
                Note::Submitted { job } => {
                    self.submitted.insert(*job);
                }
                Note::ToldCanceled { job } => {
                    self.told_canceled.insert(*job);
                }
                Note::Accepted {
                    job,
                    epoch,
                    digest,
                    body,
                    uploaded,
                } => {
                    if let Some(text) = uploaded {
                        self.uploaded.insert((*job, *epoch), text.clone());
                    }
                    let result = (digest.clone(), body.clone());
                    self.accepted.insert((*job, *epoch), result);
                }
                Note::Heard { job, epoch, tick } => self.hear(*job, *epoch, *tick),
                Note::Started { job, epoch } => {
                    if let Some(now) = now {
                        self.hear(*job, *epoch, now);
                    }
                }
                Note::Claim { .. } | Note::Word { .. } | Note::Repeated => {}
            }
        }
    }

    fn hear(&mut self, job: i64, epoch: i64, tick: Millis) {
        let heard = self.heard.entry((job, epoch)).or_insert(tick);
        *heard = tick.max(*heard);
    }
}
