//! A person runs a job again: a new report and a new job that name the old one.

use kiln_model::{JobUuid, ReportUuid, Trigger};
use kiln_store::Tx;
use kiln_store::sql::job::{self, Job};
use kiln_store::sql::report::{self, Report};

use crate::{Denied, jobs};

/// The ids the new rows will have, and who asks.
#[derive(Clone, Debug)]
pub struct RetryRun {
    pub job: JobUuid,
    pub report: ReportUuid,
    pub account: Option<i64>,
    pub actor: String,
}

/// Submits what an ended job was asked to do once more: the same image by digest, spec, branch, version and settings. The
/// old job and its report stay as they are.
pub fn retry_run(tx: &mut dyn Tx, old: &Job, retry: &RetryRun) -> Result<Job, Denied> {
    let status = old.life.status;
    if !status.is_ended() {
        return Err(Denied::Illegal {
            from: status,
            trigger: Trigger::Retry,
        });
    }
    let report = old.ask.report.ok_or(Denied::NotFound("report"))?;
    let report = report::find(tx, report)?.ok_or(Denied::NotFound("report"))?;
    let wall = tx.wall();
    let mut again = Report {
        id: 0,
        uuid: retry.report,
        account: retry.account,
        status: "pending".to_owned(),
        error: None,
        start_time: wall,
        end_time: wall,
        created: wall,
        ..report
    };
    again.id = report::insert(tx, &again, None)?;
    let mut ask = old.ask.clone();
    ask.public_id = Some(retry.job.to_string());
    ask.report = Some(again.id);
    ask.retry_of = Some(old.id);
    ask.root = None;
    ask.created = wall;
    let made = jobs::submit(tx, ask, &retry.actor)?;
    job::find(tx, made.id)?.ok_or(Denied::NotFound("job"))
}
