//! Runners begin, change, and get another credential.

use kiln_model::RunnerUuid;
use kiln_model::v0::{NewRunner, UpdateRunner};
use kiln_store::sql::lane;
use kiln_store::sql::runner::{self, Runner};
use kiln_store::sql::spec::Spec;
use kiln_store::{Query, Tx};

use super::find_spec;
use crate::access::{self, Caller};
use crate::slugs::taken;
use crate::{Denied, NewSlug, audit};

/// The runner of that UUID or slug.
pub fn find_runner<Q: Query + ?Sized>(query: &mut Q, reference: &str) -> Result<Runner, Denied> {
    runner::find_by_ref(query, reference)?.ok_or(Denied::NotFound("runner"))
}

/// A runner's slug is what was asked for or nothing: its machine is configured with it.
pub fn create_runner(
    tx: &mut dyn Tx,
    caller: &Caller,
    new: &NewRunner,
    uuid: RunnerUuid,
    hash: &str,
) -> Result<(), Denied> {
    access::administrator(caller)?;
    let slug = NewSlug {
        asked: new.slug.clone(),
        suffix: String::new(),
    };
    let slug = slug.wanted(&new.name)?;
    runner::insert(tx, uuid, &new.name, &slug, hash)
        .map_err(|error| taken(error, "a runner with this slug"))?;
    audit::record(tx, caller, "runner.create", "runner", uuid)?;
    Ok(())
}

/// A drained runner finishes what it has and is given nothing more. An archived runner's channel is closed and its credential opens nothing until it is taken back.
pub fn update_runner(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    change: &UpdateRunner,
) -> Result<Runner, Denied> {
    access::administrator(caller)?;
    let mut found = find_runner(tx, reference)?;
    if let Some(name) = &change.name {
        found.name = name.clone();
    }
    if let Some(slug) = &change.slug {
        found.slug = slug.clone();
    }
    match change.archived {
        Some(true) if found.archived.is_none() => {
            found.archived = Some(tx.wall());
            // An open channel notices a new version within a second.
            found.key_version += 1;
        }
        Some(false) => found.archived = None,
        Some(true) | None => {}
    }
    match change.draining {
        Some(true) => found.draining = Some(found.draining.unwrap_or_else(|| tx.wall())),
        Some(false) => found.draining = None,
        None => {}
    }
    runner::update(tx, &found).map_err(|error| taken(error, "a runner with this slug"))?;
    audit::record(tx, caller, "runner.update", "runner", found.uuid)?;
    find_runner(tx, &found.uuid.to_string())
}

/// One credential is live per runner: the old one is dead at once, whichever form it had.
pub fn rotate_credential(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    hash: &str,
) -> Result<RunnerUuid, Denied> {
    access::administrator(caller)?;
    let found = find_runner(tx, reference)?;
    if found.archived.is_some() {
        return Err(Denied::Conflict(
            "the credential of an archived runner cannot be rotated",
        ));
    }
    runner::set_key(tx, found.id, hash)?;
    audit::record(tx, caller, "runner.key.rotate", "runner", found.uuid)?;
    Ok(found.uuid)
}

pub fn link_spec(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    spec: &str,
) -> Result<Spec, Denied> {
    access::administrator(caller)?;
    let found = find_runner(tx, reference)?;
    let spec = find_spec(tx, spec)?;
    if !lane::link(tx, found.id, spec.lane)? {
        return Err(Denied::Taken("this spec of the runner"));
    }
    record(tx, caller, "runner.spec.add", &found, &spec)?;
    Ok(spec)
}

pub fn unlink_spec(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    spec: &str,
) -> Result<(), Denied> {
    access::administrator(caller)?;
    let found = find_runner(tx, reference)?;
    let spec = find_spec(tx, spec)?;
    if !lane::unlink(tx, found.id, spec.lane)? {
        return Err(Denied::NotFound("spec of this runner"));
    }
    record(tx, caller, "runner.spec.remove", &found, &spec)
}

fn record(
    tx: &mut dyn Tx,
    caller: &Caller,
    action: &str,
    runner: &Runner,
    spec: &Spec,
) -> Result<(), Denied> {
    let subject = format!("runner:{}", runner.uuid);
    audit::record_detail(tx, caller, action, &subject, &format!("spec:{}", spec.uuid))?;
    Ok(())
}
