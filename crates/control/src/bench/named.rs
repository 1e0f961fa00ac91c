//! Branches and testbeds as runs and reports name them: by UUID, name or slug, or by a name that nobody has yet.

use std::fmt::Display;
use std::str::FromStr;

use kiln_model::{BranchName, BranchUuid, ResourceName, TestbedUuid};
use kiln_store::Tx;
use kiln_store::sql::branch::Branch;
use kiln_store::sql::dimension;
use kiln_store::sql::testbed::Testbed;

use crate::Denied;

/// The name of the branch that is meant. A name nobody has is that of a new one; an unknown UUID is nobody's.
pub(super) fn branch(tx: &mut dyn Tx, project: i64, asked: &str) -> Result<BranchName, Denied> {
    match dimension::find_by_name::<Branch, _>(tx, project, asked)? {
        Some(found) => Ok(found.name),
        None if asked.parse::<BranchUuid>().is_ok() => Err(Denied::NotFound("branch")),
        None => parse(asked),
    }
}

/// The same for testbeds.
pub(super) fn testbed(tx: &mut dyn Tx, project: i64, asked: &str) -> Result<ResourceName, Denied> {
    match dimension::find_by_name::<Testbed, _>(tx, project, asked)? {
        Some(found) => Ok(found.name),
        None if asked.parse::<TestbedUuid>().is_ok() => Err(Denied::NotFound("testbed")),
        None => parse(asked),
    }
}

fn parse<T: FromStr>(text: &str) -> Result<T, Denied>
where
    T::Err: Display,
{
    text.parse()
        .map_err(|error: T::Err| Denied::Invalid(error.to_string()))
}
