//! Thresholds of a project.

use kiln_model::v0::{NewModel, NewThreshold, RunThresholds};
use kiln_model::{Entropy, ThresholdUuid};
use kiln_store::Tx;
use kiln_store::sql::benchmark::Benchmark;
use kiln_store::sql::branch::Branch;
use kiln_store::sql::dimension;
use kiln_store::sql::measure::Measure;
use kiln_store::sql::testbed::Testbed;
use kiln_store::sql::threshold::{self, Scope, Threshold};

use super::{measures, models};
use crate::Denied;

pub fn create_threshold(
    tx: &mut dyn Tx,
    project: i64,
    new: &NewThreshold,
    ids: &dyn Entropy,
) -> Result<Threshold, Denied> {
    models::check_model(&new.model)?;
    let branch = dimension::find_by_name::<Branch, _>(tx, project, &new.branch)?
        .ok_or(Denied::NotFound("branch"))?;
    let testbed = dimension::find_by_name::<Testbed, _>(tx, project, &new.testbed)?
        .ok_or(Denied::NotFound("testbed"))?;
    let measure = dimension::find_by_name::<Measure, _>(tx, project, &new.measure)?
        .ok_or(Denied::NotFound("measure"))?;
    let benchmark = match &new.benchmark {
        Some(reference) => Some(
            dimension::find_by_name::<Benchmark, _>(tx, project, reference)?
                .ok_or(Denied::NotFound("benchmark"))?,
        ),
        None => None,
    };
    let scope = Scope {
        branch: branch.id,
        testbed: testbed.id,
        measure: measure.id,
        benchmark: benchmark.map(|benchmark| benchmark.id),
    };
    let id = insert(tx, project, scope, ids)?.ok_or(Denied::Taken(
        "a threshold of this branch, testbed and measure",
    ))?;
    models::set(tx, id, Some(&new.model), ids)?;
    find(tx, id)
}

/// Replaces the model, or removes it.
pub fn update_threshold(
    tx: &mut dyn Tx,
    id: i64,
    model: Option<&NewModel>,
    ids: &dyn Entropy,
) -> Result<Threshold, Denied> {
    models::set(tx, id, model, ids)?;
    find(tx, id)
}

/// The thresholds that come with a run: listed measures get these models, and with `reset` all others lose theirs.
pub fn apply_thresholds(
    tx: &mut dyn Tx,
    project: i64,
    (branch, testbed): (i64, i64),
    asked: &RunThresholds,
    ids: &dyn Entropy,
) -> Result<(), Denied> {
    let mut listed = Vec::new();
    for (name, model) in asked.models.iter().flatten() {
        models::check_model(model)?;
        let measure = measures::ensure(tx, project, name, ids)?;
        let scope = Scope {
            branch,
            testbed,
            measure: measure.id,
            benchmark: None,
        };
        let id = ensure(tx, project, scope, ids)?;
        models::set(tx, id, Some(model), ids)?;
        listed.push(id);
    }
    if asked.reset == Some(true) {
        for threshold in threshold::live(tx, branch, testbed)? {
            if !listed.contains(&threshold.id) && threshold.benchmark.is_none() {
                models::set(tx, threshold.id, None, ids)?;
            }
        }
    }
    Ok(())
}

/// Gives a branch the thresholds of another one.
pub(super) fn clone_thresholds(
    tx: &mut dyn Tx,
    project: i64,
    (from, to): (i64, i64),
    ids: &dyn Entropy,
) -> Result<(), Denied> {
    for threshold in threshold::of_branch(tx, from)? {
        let Some(model) = threshold.model else {
            continue;
        };
        let model =
            kiln_store::sql::threshold_model::find(tx, model)?.ok_or(Denied::NotFound("model"))?;
        let scope = Scope {
            branch: to,
            testbed: threshold.testbed,
            measure: threshold.measure,
            benchmark: threshold.benchmark,
        };
        let id = ensure(tx, project, scope, ids)?;
        models::set(tx, id, Some(&models::given(&model)), ids)?;
    }
    Ok(())
}

fn ensure(tx: &mut dyn Tx, project: i64, scope: Scope, ids: &dyn Entropy) -> Result<i64, Denied> {
    if let Some(found) = threshold::find_by_scope(tx, scope)? {
        return Ok(found.id);
    }
    if let Some(id) = insert(tx, project, scope, ids)? {
        return Ok(id);
    }
    // Somebody else has just made it.
    let found = threshold::find_by_scope(tx, scope)?;
    Ok(found.ok_or(Denied::NotFound("threshold"))?.id)
}

fn insert(
    tx: &mut dyn Tx,
    project: i64,
    scope: Scope,
    ids: &dyn Entropy,
) -> Result<Option<i64>, Denied> {
    let uuid = ThresholdUuid::mint(tx.wall(), ids);
    Ok(threshold::insert(tx, project, uuid, scope)?)
}

fn find(tx: &mut dyn Tx, id: i64) -> Result<Threshold, Denied> {
    threshold::find(tx, id)?.ok_or(Denied::NotFound("threshold"))
}
