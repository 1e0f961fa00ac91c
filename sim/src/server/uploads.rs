//! Output that is uploaded before the result that names it, as the server's own door does it.

use std::sync::Arc;

use kiln_control::outputs::{self, Chunk, Holding};
use kiln_control::{Credential, Denied};
use kiln_model::Digest;
use kiln_model::v0::UploadProgress;
use kiln_store::sql::job_upload::{self, State};
use kiln_store::sql::runner;
use kiln_store::{Error, ObjectKey, Tx};
use sha2::{Digest as _, Sha256};

use super::{Server, Trouble, unexpected};
use crate::objects::SimObjects;
use crate::wire::UploadStep;

/// More than any output here.
const LIMIT: u64 = 1 << 20;

impl Server {
    /// One step; how far the upload is then, or nothing when the server does not take it.
    pub(super) fn upload(
        &self,
        runner: i64,
        step: &UploadStep,
    ) -> Result<Option<UploadProgress>, Trouble> {
        let (step, objects) = (step.clone(), Arc::clone(&self.objects));
        let outcome = self.write(move |tx: &mut dyn Tx| take(tx, runner, &step, &objects))?;
        match outcome {
            Ok(progress) => Ok(Some(progress)),
            Err(Denied::OutOfOrder { received }) => Ok(Some(UploadProgress {
                received,
                complete: false,
            })),
            // An object store that does not answer is like a server that does not.
            Err(Denied::Store(Error::Object { .. })) => Ok(Some(UploadProgress {
                received: 0,
                complete: false,
            })),
            Err(Denied::Ended(_) | Denied::NotFound(_)) => Ok(None),
            Err(denied) => Err(unexpected(denied)),
        }
    }
}

pub(super) fn digest(text: &str) -> Digest {
    Digest::from_hash(&Sha256::digest(text.as_bytes())).expect("SHA-256 has 32 bytes")
}

fn take(
    tx: &mut dyn Tx,
    runner: i64,
    step: &UploadStep,
    objects: &SimObjects,
) -> Result<UploadProgress, Denied> {
    let version = runner::find(tx, runner)?.map_or(0, |runner| runner.key_version);
    let job = step.of.public_id.as_deref().and_then(|id| id.parse().ok());
    let holding = Holding {
        credential: Credential { runner, version },
        job: job.ok_or(Denied::NotFound("job"))?,
    };
    let whole = digest(&step.whole);
    let size = step.whole.len() as u64;
    let upload = outputs::begin(tx, holding, &whole, size, LIMIT)?;
    if let Some(range) = &step.chunk {
        let text = &step.whole[range.clone()];
        let chunk = Chunk {
            start: range.start as u64,
            size: text.len() as u64,
            digest: digest(text),
        };
        if outputs::is_new(&upload, &chunk)? {
            objects.put(&chunk.object_key(&upload), text.as_bytes().to_vec())?;
        }
        return outputs::append(tx, holding, &whole, &chunk);
    }
    if upload.state == State::Receiving && upload.received == upload.size {
        let mut bytes = Vec::new();
        for piece in job_upload::pieces(tx, upload.id)? {
            bytes.extend(objects.get(&piece.object_key).unwrap_or_default());
        }
        let key = ObjectKey::parse(&upload.object_key).expect("it was one when it was written");
        objects.put(&key, bytes)?;
        outputs::finished(tx, &upload)?;
    }
    let upload = outputs::find(tx, holding, &whole)?;
    Ok(outputs::progress(&upload))
}
