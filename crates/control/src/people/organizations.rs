//! Organizations begin, change and end.

use kiln_model::OrganizationUuid;
use kiln_model::v0::{NewOrganization, Permission, Role, UpdateOrganization, UpdatePlan};
use kiln_store::Tx;
use kiln_store::sql::organization::{self, Organization};
use kiln_store::sql::{member, project};

use crate::access::{self, Caller};
use crate::slugs::taken;
use crate::{Denied, NewSlug, audit, projects};

/// The caller leads what they make.
pub fn create_organization(
    tx: &mut dyn Tx,
    caller: &Caller,
    new: &NewOrganization,
    uuid: OrganizationUuid,
    slug: &NewSlug,
) -> Result<Organization, Denied> {
    let leader = caller.account().ok_or(Denied::Unauthorized)?;
    let slug = slug.choose(tx, &new.name, |tx, slug| {
        organization::is_slug_taken(tx, slug)
    })?;
    let id = organization::insert(tx, uuid, &new.name, &slug)
        .map_err(|error| taken(error, "an organization with this slug"))?;
    member::put(tx, id, leader.id, Role::Leader)?;
    audit::record(tx, caller, "organization.create", "organization", uuid)?;
    organization::find(tx, id)?.ok_or(Denied::NotFound("organization"))
}

pub fn update_organization(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    change: &UpdateOrganization,
) -> Result<Organization, Denied> {
    let mut found = access::organization(tx, caller, reference, Permission::Manage)?;
    if let Some(name) = &change.name {
        found.name = name.clone();
    }
    if let Some(slug) = &change.slug {
        found.slug = slug.clone();
    }
    save(tx, &found)?;
    audit::record(
        tx,
        caller,
        "organization.update",
        "organization",
        found.uuid,
    )?;
    organization::find(tx, found.id)?.ok_or(Denied::NotFound("organization"))
}

/// What an organization is entitled to is the administrator's to say.
pub fn set_plan(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    change: &UpdatePlan,
) -> Result<Organization, Denied> {
    let mut found = access::organization(tx, caller, reference, Permission::View)?;
    access::administrator(caller)?;
    if change.level.is_none() && change.customer.is_none() {
        let what = "nothing is to be changed: give a `level`, a `customer`, or both";
        return Err(Denied::Invalid(what.to_owned()));
    }
    found.plan = change.level.unwrap_or(found.plan);
    if let Some(customer) = &change.customer {
        found.customer = Some(customer.trim().to_owned()).filter(|name| !name.is_empty());
    }
    save(tx, &found)?;
    let subject = format!("organization:{}", found.uuid);
    let detail = found.plan.name();
    audit::record_detail(tx, caller, "organization.plan", &subject, detail)?;
    Ok(found)
}

/// Its projects go first, and their live jobs before them.
pub fn delete_organization(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
) -> Result<(), Denied> {
    let found = access::organization(tx, caller, reference, Permission::Delete)?;
    for project in project::of_organization(tx, found.id)? {
        projects::delete(tx, caller, &project)?;
    }
    organization::delete(tx, found.id)?;
    audit::record(
        tx,
        caller,
        "organization.delete",
        "organization",
        found.uuid,
    )?;
    Ok(())
}

fn save(tx: &mut dyn Tx, organization: &Organization) -> Result<(), Denied> {
    organization::update(tx, organization)
        .map_err(|error| taken(error, "an organization with this slug"))
}
