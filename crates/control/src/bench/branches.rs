//! Branches and where they begin.

use kiln_model::v0::{self, StartPoint};
use kiln_model::{BranchUuid, Entropy, HeadUuid};
use kiln_store::Tx;
use kiln_store::sql::branch::{self, Branch};
use kiln_store::sql::head::{self, Start};
use kiln_store::sql::{alert, dimension};

use super::thresholds;
use crate::Denied;

/// How many versions of its start point a head takes along unless it says otherwise.
const START_VERSIONS: u32 = 255;

pub fn create_branch(
    tx: &mut dyn Tx,
    project: i64,
    new: &v0::NewBranch,
    ids: &dyn Entropy,
) -> Result<Branch, Denied> {
    let wall = tx.wall();
    let minted = branch::NewBranch {
        uuid: BranchUuid::mint(wall, ids),
        head: HeadUuid::mint(wall, ids),
    };
    if !branch::insert(tx, project, &new.name, new.slug.as_ref(), minted)? {
        return Err(Denied::Taken("a branch of this name"));
    }
    let made = find(tx, project, new.name.as_str())?;
    if let Some(start) = &new.start_point {
        begin(tx, project, &made, start, ids)?;
    }
    find(tx, project, new.name.as_str())
}

/// Where a run's branch begins: a new one at its start point, one that there is already only when it is reset.
pub fn start_branch(
    tx: &mut dyn Tx,
    project: i64,
    name: &kiln_model::BranchName,
    start: &StartPoint,
    ids: &dyn Entropy,
) -> Result<(), Denied> {
    match dimension::find_by_name::<Branch, _>(tx, project, name.as_str())? {
        Some(found) if start.reset == Some(true) => begin(tx, project, &found, start, ids),
        Some(_) => Ok(()),
        None => {
            let new = v0::NewBranch {
                name: name.clone(),
                slug: None,
                start_point: Some(start.clone()),
            };
            create_branch(tx, project, &new, ids).map(drop)
        }
    }
}

/// Gives a branch a new head that begins at a version of another branch, or at nothing. The old head is kept with its reports, and
/// its alerts are silenced.
pub fn begin(
    tx: &mut dyn Tx,
    project: i64,
    of: &Branch,
    start: &StartPoint,
    ids: &dyn Entropy,
) -> Result<(), Denied> {
    let source = match &start.branch {
        Some(reference) => Some(find(tx, project, reference)?),
        None => None,
    };
    let point = match &source {
        Some(source) => start_version(tx, source, start)?,
        None => None,
    };
    let uuid = HeadUuid::mint(tx.wall(), ids);
    let new = head::insert(tx, of.id, uuid, point)?;
    if let Some(point) = point {
        let most = start.max_versions.unwrap_or(START_VERSIONS);
        head::clone_versions(tx, new, point, most)?;
    }
    head::replace(tx, of.head_id)?;
    alert::silence_head(tx, of.head_id)?;
    branch::set_head(tx, of.id, uuid, new)?;
    match source {
        Some(source) if start.clone_thresholds == Some(true) => {
            thresholds::clone_thresholds(tx, project, (source.id, of.id), ids)
        }
        _ => Ok(()),
    }
}

fn start_version(
    tx: &mut dyn Tx,
    source: &Branch,
    start: &StartPoint,
) -> Result<Option<Start>, Denied> {
    let version = match &start.hash {
        Some(hash) => Some(
            head::version_of_hash(tx, source.head_id, hash)?
                .ok_or(Denied::NotFound("version of the start point"))?,
        ),
        None => head::newest_version(tx, source.head_id)?,
    };
    Ok(version.map(|version| Start {
        head: source.head_id,
        version: version.id,
    }))
}

fn find(tx: &mut dyn Tx, project: i64, reference: &str) -> Result<Branch, Denied> {
    dimension::find_by_name(tx, project, reference)?.ok_or(Denied::NotFound("branch"))
}
