//! Results that a client measured itself become a report.

use kiln_model::v0::{NewReport, Settings};
use kiln_model::{BranchUuid, HeadUuid, ReportUuid, TestbedUuid};
use kiln_store::Tx;
use kiln_store::sql::branch::{self, Branch, NewBranch};
use kiln_store::sql::report::{self, Report, ReportMetric};
use kiln_store::sql::testbed::{self, Testbed};

use super::process::{publish, read_texts};
use super::{Ids, RunSettings, apply_thresholds, named, start_branch};
use crate::Denied;

/// A checked request: its results are read before any transaction.
#[derive(Clone, Debug)]
pub struct NewResults {
    pub report: ReportUuid,
    pub account: Option<i64>,
    pub new: NewReport,
    settings: RunSettings,
    metrics: Vec<ReportMetric>,
}

impl NewResults {
    /// Refuses results that the adapter cannot read.
    pub fn read(report: ReportUuid, account: Option<i64>, new: NewReport) -> Result<Self, Denied> {
        let settings = RunSettings::check(new.settings.as_ref())?;
        let texts: Vec<&str> = new.results.iter().map(String::as_str).collect();
        let metrics = read_texts(settings, &texts).map_err(Denied::Invalid)?;
        if new.end_time < new.start_time {
            return Err(Denied::Invalid("a report ends after it starts".to_owned()));
        }
        Ok(Self {
            report,
            account,
            new,
            settings,
            metrics,
        })
    }
}

/// Stores a report with its metrics, judged.
pub fn submit_report(
    tx: &mut dyn Tx,
    project: i64,
    results: &NewResults,
) -> Result<Report, Denied> {
    let new = &results.new;
    let ids = Ids::new(format_args!("submit:{}", results.report));
    let branch = ensure_branch(tx, project, new, &ids)?;
    let testbed = ensure_testbed(tx, project, &new.testbed, &ids)?;
    if let Some(thresholds) = &new.thresholds {
        apply_thresholds(tx, project, (branch.id, testbed.id), thresholds, &ids)?;
    }
    let settings: Option<&Settings> = new.settings.as_ref();
    let mut row = Report {
        id: 0,
        uuid: results.report,
        project,
        account: results.account,
        branch: branch.id,
        version: branch.version,
        git_hash: new.hash.clone(),
        testbed: testbed.id,
        adapter: results.settings.adapter.normalized().to_string(),
        settings: serde_json::to_string(&settings).expect("settings are plain data"),
        status: "running".to_owned(),
        error: None,
        start_time: new.start_time.0,
        end_time: new.end_time.0,
        created: tx.wall(),
    };
    row.id = report::insert(tx, &row, None)?;
    publish(tx, &row, &results.metrics)?;
    "ready".clone_into(&mut row.status);
    Ok(row)
}

/// The branch that is meant, begun where the request says.
fn ensure_branch(
    tx: &mut dyn Tx,
    project: i64,
    new: &NewReport,
    ids: &Ids,
) -> Result<Branch, Denied> {
    let name = named::branch(tx, project, &new.branch)?;
    if let Some(start) = &new.start_point {
        start_branch(tx, project, &name, start, ids)?;
    }
    let wall = tx.wall();
    let minted = NewBranch {
        uuid: BranchUuid::mint(wall, ids),
        head: HeadUuid::mint(wall, ids),
    };
    Ok(branch::ensure(
        tx,
        project,
        &name,
        new.hash.as_ref(),
        minted,
    )?)
}

fn ensure_testbed(
    tx: &mut dyn Tx,
    project: i64,
    reference: &str,
    ids: &Ids,
) -> Result<Testbed, Denied> {
    let name = named::testbed(tx, project, reference)?;
    let uuid = TestbedUuid::mint(tx.wall(), ids);
    Ok(testbed::ensure(tx, project, &name, None, uuid)?)
}
