//! An upload begins, grows and is whole.

use kiln_model::v0::UploadProgress;
use kiln_model::{Digest, JobUuid, Status, Trigger};
use kiln_store::sql::job::{self, Job};
use kiln_store::sql::job_upload::{self, NewUpload, Piece, State, Upload};
use kiln_store::sql::project;
use kiln_store::{ObjectKey, Query, Tx};

use crate::{Credential, Denied};

/// Who uploads, and for which job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    pub credential: Credential,
    pub job: JobUuid,
}

/// A part of an upload that was received and is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub start: u64,
    pub size: u64,
    pub digest: Digest,
}

impl Chunk {
    /// Where its bytes lie. Two chunks that begin alike and are not alike lie apart.
    pub fn object_key(&self, upload: &Upload) -> ObjectKey {
        let name = format!("{:020}-{}", self.start, self.digest.hex());
        ObjectKey::parse(&format!("{}/{name}", upload.pieces_prefix))
            .expect("numbers and digests make a key")
    }
}

/// The upload of a digest, which begins now unless it is there. Only the holder of a job that still takes a result may
/// upload, and no more than `limit` bytes for one lease.
pub fn begin(
    tx: &mut dyn Tx,
    holding: Holding,
    digest: &Digest,
    size: u64,
    limit: u64,
) -> Result<Upload, Denied> {
    let job = held(tx, holding)?;
    if let Some(found) = job_upload::find(tx, job.id, job.life.epoch, digest)? {
        if found.state == State::Leaving {
            return Err(Denied::Conflict(
                "this upload was given up and is being removed",
            ));
        }
        if found.size != size {
            return Err(Denied::Conflict("this upload began with another size"));
        }
        return Ok(found);
    }
    let others = job_upload::size_of_lease(tx, job.id, job.life.epoch)?;
    if others.saturating_add(size) > limit {
        return Err(Denied::TooLarge(format!(
            "the output of a job may have {limit} bytes beside the message, and this would make it {}",
            others.saturating_add(size)
        )));
    }
    let project = job.ask.project.ok_or(Denied::NotFound("project"))?;
    let project = project::find(tx, project)?.ok_or(Denied::NotFound("project"))?;
    let place = |kind: &str| {
        let (epoch, hex) = (job.life.epoch, digest.hex());
        format!(
            "{}/output/v0/{kind}/{}/{epoch}-{hex}",
            project.uuid, holding.job
        )
    };
    let new = NewUpload {
        job: job.id,
        epoch: job.life.epoch,
        digest,
        size,
        pieces_prefix: &place("pieces"),
        object_key: &place("large"),
    };
    job_upload::insert(tx, &new)?;
    find(tx, holding, digest)
}

/// The upload of a digest, for the holder of its job.
pub fn find(tx: &mut dyn Tx, holding: Holding, digest: &Digest) -> Result<Upload, Denied> {
    let job = held(tx, holding)?;
    job_upload::find(tx, job.id, job.life.epoch, digest)?.ok_or(Denied::NotFound("upload"))
}

/// Adds a chunk, unless it was added before. One that leaves a gap or overlaps what is there is refused.
pub fn append(
    tx: &mut dyn Tx,
    holding: Holding,
    digest: &Digest,
    chunk: &Chunk,
) -> Result<UploadProgress, Denied> {
    let upload = find(tx, holding, digest)?;
    if !is_new(&upload, chunk)? {
        return Ok(progress(&upload));
    }
    let piece = Piece {
        start: chunk.start,
        size: chunk.size,
        object_key: chunk.object_key(&upload).as_str().to_owned(),
        digest: chunk.digest.clone(),
    };
    if !job_upload::append(tx, upload.id, &piece)? {
        return Err(Denied::Raced);
    }
    Ok(progress(&find(tx, holding, digest)?))
}

/// Whether a chunk goes on where the upload ends; not when it is there already.
pub fn is_new(upload: &Upload, chunk: &Chunk) -> Result<bool, Denied> {
    let end = chunk.start.saturating_add(chunk.size);
    if end > upload.size {
        return Err(Denied::Invalid(format!(
            "the chunk ends at {end}, and the whole has {} bytes",
            upload.size
        )));
    }
    if end <= upload.received {
        return Ok(false);
    }
    if chunk.start == upload.received {
        return Ok(true);
    }
    Err(Denied::OutOfOrder {
        received: upload.received,
    })
}

/// The whole lies at its key and its digest was found right.
pub fn finished(tx: &mut dyn Tx, upload: &Upload) -> Result<(), Denied> {
    if upload.received != upload.size {
        return Err(Denied::OutOfOrder {
            received: upload.received,
        });
    }
    job_upload::advance(tx, upload.id, State::Receiving, State::Whole)?;
    Ok(())
}

/// What was received is not what was announced: all of it goes.
pub fn discard(tx: &mut dyn Tx, upload: &Upload) -> Result<(), Denied> {
    job_upload::advance(tx, upload.id, State::Receiving, State::Leaving)?;
    Ok(())
}

/// How far an upload has come.
pub fn progress(upload: &Upload) -> UploadProgress {
    UploadProgress {
        received: upload.received,
        complete: matches!(upload.state, State::Whole | State::Named),
    }
}

/// The job, if it is this runner's and still takes a result. Unknown and somebody else's look alike.
fn held(tx: &mut dyn Tx, holding: Holding) -> Result<Job, Denied> {
    holding.credential.check(tx)?;
    let job = find_job(tx, holding)?;
    let is_lost = job.life.cause.is_some_and(Trigger::is_lost_contact);
    match job.life.status {
        Status::Claimed | Status::Running => Ok(job),
        Status::Failed if is_lost => Ok(job),
        status @ (Status::Pending
        | Status::Completed
        | Status::Processed
        | Status::Failed
        | Status::Canceled
        | Status::Abandoned) => Err(Denied::Ended(status)),
    }
}

fn find_job<Q: Query + ?Sized>(query: &mut Q, holding: Holding) -> Result<Job, Denied> {
    job::find_public(query, &holding.job.to_string())?
        .filter(|job| job.life.runner == Some(holding.credential.runner))
        .ok_or(Denied::NotFound("job"))
}
