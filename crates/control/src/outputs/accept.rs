//! A result names what was uploaded.

use kiln_model::Digest;
use kiln_model::v0::LargeOutput;
use kiln_store::Tx;
use kiln_store::sql::job::Job;
use kiln_store::sql::job_upload::{self, State};

use crate::Denied;

/// What a result says was uploaded for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Large {
    pub digest: Digest,
    pub size: u64,
}

impl From<&LargeOutput> for Large {
    fn from(output: &LargeOutput) -> Self {
        Self {
            digest: output.digest.clone(),
            size: output.size,
        }
    }
}

/// Binds the upload to the output of its lease, in the transaction that accepts the output. One that is not whole is refused:
/// then nothing is accepted, and the runner uploads it first.
pub(crate) fn accept(tx: &mut dyn Tx, job: &Job, large: &Large) -> Result<(), Denied> {
    let upload = job_upload::find(tx, job.id, job.life.epoch, &large.digest)?
        .filter(|upload| upload.size == large.size)
        .ok_or(Denied::NotUploaded)?;
    match upload.state {
        State::Named => Ok(()),
        State::Whole if job_upload::advance(tx, upload.id, State::Whole, State::Named)? => Ok(()),
        State::Whole => Err(Denied::Raced),
        State::Receiving | State::Leaving => Err(Denied::NotUploaded),
    }
}
