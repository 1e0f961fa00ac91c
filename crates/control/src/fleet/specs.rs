//! Specs begin, change and end.

use kiln_model::SpecUuid;
use kiln_model::v0::{NewSpec, UpdateSpec};
use kiln_store::sql::lane;
use kiln_store::sql::spec::{self, Spec};
use kiln_store::{Query, Tx};

use crate::access::{self, Caller};
use crate::slugs::taken;
use crate::{Denied, NewSlug, audit};

/// The spec of that UUID or slug.
pub fn find_spec<Q: Query + ?Sized>(query: &mut Q, reference: &str) -> Result<Spec, Denied> {
    spec::find_by_ref(query, reference)?.ok_or(Denied::NotFound("spec"))
}

pub fn create_spec(
    tx: &mut dyn Tx,
    caller: &Caller,
    new: &NewSpec,
    uuid: SpecUuid,
    slug: &NewSlug,
) -> Result<Spec, Denied> {
    access::administrator(caller)?;
    check(new)?;
    let slug = slug.choose(tx, &new.name, |tx, slug| spec::is_slug_taken(tx, slug))?;
    let wall = tx.wall();
    if new.fallback {
        take_fallback(tx)?;
    }
    let mut row = Spec {
        id: 0,
        uuid,
        lane: lane::ensure(tx, &format!("spec:{uuid}"))?,
        name: new.name.clone(),
        slug,
        os: new.os,
        architecture: new.architecture,
        sandbox: sandbox(new),
        cpu: new.cpu,
        memory: new.memory,
        disk: new.disk,
        network: new.network,
        fallback: new.fallback.then_some(wall),
        created: wall,
        modified: wall,
        archived: None,
        shared: new.shared,
        isolation: new.isolation,
    };
    row.id = spec::insert(tx, &row).map_err(|error| taken(error, "a spec with this slug"))?;
    audit::record(tx, caller, "spec.create", "spec", uuid)?;
    Ok(row)
}

/// An archived spec is nobody's fallback and no testbed's, whatever else was asked for.
pub fn update_spec(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    change: &UpdateSpec,
) -> Result<Spec, Denied> {
    access::administrator(caller)?;
    let mut found = find_spec(tx, reference)?;
    if let Some(name) = &change.name {
        found.name = name.clone();
    }
    if let Some(slug) = &change.slug {
        found.slug = slug.clone();
    }
    match change.archived {
        Some(true) if found.archived.is_none() => {
            found.archived = Some(tx.wall());
            spec::leave_testbeds(tx, found.id)?;
        }
        Some(false) => found.archived = None,
        Some(true) | None => {}
    }
    match change.fallback {
        Some(true) if found.archived.is_none() => {
            take_fallback(tx)?;
            found.fallback = Some(tx.wall());
        }
        Some(false) => found.fallback = None,
        Some(true) | None => {}
    }
    if found.archived.is_some() {
        found.fallback = None;
    }
    spec::update(tx, &found).map_err(|error| taken(error, "a spec with this slug"))?;
    audit::record(tx, caller, "spec.update", "spec", found.uuid)?;
    find_spec(tx, &found.uuid.to_string())
}

/// Only a spec that no job, testbed or runner refers to.
pub fn delete_spec(tx: &mut dyn Tx, caller: &Caller, reference: &str) -> Result<(), Denied> {
    access::administrator(caller)?;
    let found = find_spec(tx, reference)?;
    if spec::is_in_use(tx, &found)? {
        return Err(Denied::Conflict(
            "the spec is in use by a job, a testbed or a runner: archive it instead",
        ));
    }
    spec::delete(tx, &found)?;
    audit::record(tx, caller, "spec.delete", "spec", found.uuid)?;
    Ok(())
}

/// There is one fallback at most.
fn take_fallback(tx: &mut dyn Tx) -> Result<(), Denied> {
    tx.serialize_on("fallback spec")?;
    spec::clear_fallback(tx)?;
    Ok(())
}

/// What it asks for in this word, also where that follows from `isolation`: runners that do not know that one are held by this.
fn sandbox(new: &NewSpec) -> Option<String> {
    let by_isolation = || new.isolation?.sandbox().map(str::to_owned);
    new.sandbox.clone().or_else(by_isolation)
}

fn check(new: &NewSpec) -> Result<(), Denied> {
    let invalid = |text: &str| Err(Denied::Invalid(text.to_owned()));
    let fits = |value: u64, limit: u64| (1..=limit).contains(&value);
    if !fits(u64::from(new.cpu), u64::from(i32::MAX.unsigned_abs())) {
        return invalid("`cpu` is from 1 to 2147483647");
    }
    let most = i64::MAX.unsigned_abs();
    if !fits(new.memory, most) || !fits(new.disk, most) {
        return invalid("`memory` and `disk` are from 1 to 9223372036854775807 bytes");
    }
    let is_known = |sandbox: &str| sandbox == "firecracker";
    if !new.sandbox.as_deref().is_none_or(is_known) {
        return invalid("`sandbox` is \"firecracker\" (a microVM) or absent");
    }
    Ok(())
}
