//! People enter and change.

use kiln_model::v0::{NewUser, Role, UpdateUser};
use kiln_model::{Email, OrganizationUuid, ResourceName, UserUuid};
use kiln_store::Tx;
use kiln_store::sql::account::{self, Account};
use kiln_store::sql::{member, organization};

use crate::access::{self, Caller};
use crate::slugs::taken;
use crate::{Denied, NewSlug, audit};

/// Ids for a new person and the organization they begin with.
#[derive(Clone, Debug)]
pub struct NewAccount {
    pub uuid: UserUuid,
    pub organization: OrganizationUuid,
    pub slug: NewSlug,
}

/// A new person, with an organization of their own.
pub fn create_account(
    tx: &mut dyn Tx,
    caller: &Caller,
    new: &NewUser,
    ids: &NewAccount,
) -> Result<Account, Denied> {
    access::administrator(caller)?;
    if account::find_by_email(tx, new.email.as_str())?.is_some() {
        return Err(Denied::Taken("this email address"));
    }
    let made = insert(tx, &new.name, &new.email, new.admin, ids)?;
    audit::record(tx, caller, "user.create", "user", made.uuid)?;
    Ok(made)
}

/// The administrator of a new server; `None` when there is one already.
pub fn create_first_admin(
    tx: &mut dyn Tx,
    email: &Email,
    ids: &NewAccount,
) -> Result<Option<Account>, Denied> {
    tx.serialize_on("first start")?;
    if account::find_by_email(tx, email.as_str())?.is_some() {
        return Ok(None);
    }
    let name = "Admin".parse().expect("a valid name");
    insert(tx, &name, email, true, ids).map(Some)
}

/// Changes a person, for themselves and for administrators.
pub fn update_account(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    change: &UpdateUser,
) -> Result<Account, Denied> {
    let mut found = access::person(tx, caller, reference)?;
    let for_admins = change.email.is_some() || change.admin.is_some() || change.locked.is_some();
    if for_admins {
        access::administrator(caller)?;
    }
    let was_in_charge = found.admin && !found.locked;
    if let Some(name) = &change.name {
        found.name = name.clone();
    }
    if let Some(slug) = &change.slug {
        found.slug = slug.clone();
    }
    if let Some(email) = &change.email {
        found.email = email.clone();
    }
    found.admin = change.admin.unwrap_or(found.admin);
    found.locked = change.locked.unwrap_or(found.locked);
    let is_in_charge = found.admin && !found.locked;
    if was_in_charge && !is_in_charge {
        tx.serialize_on("administrators")?;
        if account::count_admins(tx)? <= 1 {
            return Err(Denied::Conflict(
                "this is the last administrator: make another one first",
            ));
        }
    }
    account::update(tx, &found)
        .map_err(|error| taken(error, "a user with this slug or email address"))?;
    audit::record(tx, caller, "user.update", "user", found.uuid)?;
    Ok(found)
}

/// Where a person's projects begin: in the first organization they led, which is made when they lead none any more.
pub fn home_of(tx: &mut dyn Tx, owner: &Account, uuid: OrganizationUuid) -> Result<i64, Denied> {
    if let Some(home) = member::first_led(tx, owner.id)? {
        return Ok(home);
    }
    let slug = NewSlug {
        asked: Some(owner.slug.clone()),
        suffix: uuid.to_string()[24..].to_owned(),
    };
    insert_home(tx, owner, uuid, &slug)
}

fn insert(
    tx: &mut dyn Tx,
    name: &ResourceName,
    email: &Email,
    admin: bool,
    ids: &NewAccount,
) -> Result<Account, Denied> {
    let slug = ids
        .slug
        .choose(tx, name, |tx, slug| account::is_slug_taken(tx, slug))?;
    let made = account::insert(tx, ids.uuid, name, &slug, email, admin)
        .map_err(|error| taken(error, "a user with this slug or email address"))?;
    let home = NewSlug {
        asked: Some(slug),
        suffix: ids.slug.suffix.clone(),
    };
    insert_home(tx, &made, ids.organization, &home)?;
    Ok(made)
}

fn insert_home(
    tx: &mut dyn Tx,
    owner: &Account,
    uuid: OrganizationUuid,
    slug: &NewSlug,
) -> Result<i64, Denied> {
    let slug = slug.choose(tx, &owner.name, |tx, slug| {
        organization::is_slug_taken(tx, slug)
    })?;
    let id = organization::insert(tx, uuid, &owner.name, &slug)
        .map_err(|error| taken(error, "an organization with this slug"))?;
    member::put(tx, id, owner.id, Role::Leader)?;
    Ok(id)
}

/// For invitations: the person of that address, who is made when nobody has it.
pub(super) fn find_or_insert(
    tx: &mut dyn Tx,
    email: &Email,
    name: Option<&ResourceName>,
    ids: &NewAccount,
) -> Result<Account, Denied> {
    if let Some(found) = account::find_by_email(tx, email.as_str())? {
        return Ok(found);
    }
    let local = email.as_str().split('@').next().unwrap_or_default();
    let suggested = || -> Result<ResourceName, Denied> {
        let short: String = local.chars().take(kiln_model::MAX_NAME).collect();
        short
            .parse()
            .map_err(|_| Denied::Invalid("give the person a name in `name`".to_owned()))
    };
    let name = match name {
        Some(name) => name.clone(),
        None => suggested()?,
    };
    insert(tx, &name, email, false, ids)
}
