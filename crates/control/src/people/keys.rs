//! Keys of people.

use std::time::Duration;

use kiln_model::v0::NewKey;
use kiln_model::{KeyUuid, Millis, ResourceName};
use kiln_store::Tx;
use kiln_store::sql::account::{self, Account};
use kiln_store::sql::account_key::{self, AccountKey};

use super::LONGEST_TTL;
use crate::access::{self, Caller};
use crate::{Denied, audit};

/// What is known of a new key: all but the key.
#[derive(Clone, Debug)]
pub struct NewKeyParts {
    pub uuid: KeyUuid,
    pub hash: String,
}

/// Another key for a person, for themselves and for administrators.
pub fn create_key(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    new: &NewKey,
    parts: &NewKeyParts,
) -> Result<(Account, AccountKey), Denied> {
    let owner = access::person(tx, caller, reference)?;
    let expires = expiry(tx.wall(), new.ttl)?;
    let made = account_key::insert(tx, parts.uuid, owner.id, &new.name, &parts.hash, expires)?;
    audit::record(tx, caller, "user.key.create", "key", made.uuid)?;
    Ok((owner, made))
}

/// A key for the account of that address, for whoever holds the store itself.
pub fn operator_key(
    tx: &mut dyn Tx,
    email: &str,
    name: &ResourceName,
    parts: &NewKeyParts,
) -> Result<(), Denied> {
    let owner = account::find_by_email(tx, email)?.ok_or(Denied::NotFound("administrator"))?;
    let expires = expiry(tx.wall(), None)?;
    account_key::insert(tx, parts.uuid, owner.id, name, &parts.hash, expires)?;
    kiln_store::sql::audit::append(
        tx,
        "operator",
        "user.key.create",
        &format!("key:{}", parts.uuid),
        None,
    )?;
    Ok(())
}

pub fn rename_key(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    uuid: KeyUuid,
    name: &ResourceName,
) -> Result<(Account, AccountKey), Denied> {
    let owner = access::person(tx, caller, reference)?;
    let mut found = find(tx, &owner, uuid)?;
    account_key::rename(tx, found.id, name)?;
    found.name = name.clone();
    audit::record(tx, caller, "user.key.update", "key", uuid)?;
    Ok((owner, found))
}

/// A revoked key is dead at once and stays listed.
pub fn revoke_key(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    uuid: KeyUuid,
) -> Result<(), Denied> {
    let owner = access::person(tx, caller, reference)?;
    let found = find(tx, &owner, uuid)?;
    account_key::revoke(tx, found.id)?;
    audit::record(tx, caller, "user.key.revoke", "key", uuid)?;
    Ok(())
}

/// When a key that is made now stops working.
pub(crate) fn expiry(wall: Millis, ttl: Option<u32>) -> Result<Millis, Denied> {
    match ttl.unwrap_or(LONGEST_TTL) {
        0 => Err(Denied::Invalid("`ttl` is at least 1 second".to_owned())),
        seconds => Ok(wall + Duration::from_secs(u64::from(seconds))),
    }
}

fn find(tx: &mut dyn Tx, owner: &Account, uuid: KeyUuid) -> Result<AccountKey, Denied> {
    account_key::find(tx, owner.id, uuid)?.ok_or(Denied::NotFound("key"))
}
