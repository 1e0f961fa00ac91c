//! Who belongs to an organization.

use kiln_model::v0::{NewMember, Permission, Role};
use kiln_store::Tx;
use kiln_store::sql::member::{self, Member};
use kiln_store::sql::organization::Organization;

use super::accounts::{self, NewAccount};
use crate::access::{self, Caller};
use crate::{Denied, audit};

/// Makes the person of that address a member. Somebody whom the server does not know yet gets an account, and a key
/// from an administrator.
pub fn invite(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    new: &NewMember,
    ids: &NewAccount,
) -> Result<(), Denied> {
    let organization = access::organization(tx, caller, reference, Permission::CreateRole)?;
    let person = accounts::find_or_insert(tx, &new.email, new.name.as_ref(), ids)?;
    match member::role(tx, organization.id, person.id)? {
        // An invitation never takes rights away.
        Some(_) => return Err(Denied::Conflict("this person is a member already")),
        None => member::put(tx, organization.id, person.id, new.role)?,
    }
    record(
        tx,
        caller,
        "organization.member.add",
        &organization,
        person.uuid,
    )
}

pub fn update_member(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    user: &str,
    role: Role,
) -> Result<Member, Denied> {
    let organization = access::organization(tx, caller, reference, Permission::EditRole)?;
    let mut found = find(tx, &organization, user)?;
    if found.role == Role::Leader && role != Role::Leader {
        keep_a_leader(tx, &organization)?;
    }
    member::put(tx, organization.id, found.account.id, role)?;
    found.role = role;
    record(
        tx,
        caller,
        "organization.member.update",
        &organization,
        found.account.uuid,
    )?;
    Ok(found)
}

pub fn remove_member(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    user: &str,
) -> Result<(), Denied> {
    let organization = access::organization(tx, caller, reference, Permission::DeleteRole)?;
    let found = find(tx, &organization, user)?;
    if found.role == Role::Leader {
        keep_a_leader(tx, &organization)?;
    }
    member::remove(tx, organization.id, found.account.id)?;
    record(
        tx,
        caller,
        "organization.member.remove",
        &organization,
        found.account.uuid,
    )
}

/// Without one the organization could not be managed, and without members anybody could claim it.
fn keep_a_leader(tx: &mut dyn Tx, organization: &Organization) -> Result<(), Denied> {
    tx.serialize_on(&format!("leaders {}", organization.uuid))?;
    if member::count_leaders(tx, organization.id)? > 1 {
        return Ok(());
    }
    Err(Denied::Conflict(
        "this is the last leader of the organization: make another one first",
    ))
}

fn find(tx: &mut dyn Tx, organization: &Organization, user: &str) -> Result<Member, Denied> {
    member::find(tx, organization.id, user)?.ok_or(Denied::NotFound("member"))
}

fn record(
    tx: &mut dyn Tx,
    caller: &Caller,
    action: &str,
    organization: &Organization,
    person: kiln_model::UserUuid,
) -> Result<(), Denied> {
    let subject = format!("organization:{}", organization.uuid);
    audit::record_detail(tx, caller, action, &subject, &format!("user:{person}"))?;
    Ok(())
}
