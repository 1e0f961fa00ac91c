//! What a new store needs before it can serve: a secret to sign with, and somebody who may administer it.

use kiln_control::Denied;
use kiln_model::{Clock, Entropy, KeyUuid, UserUuid};
use kiln_store::sql::{account, setting};
use kiln_store::{Store, Tx};

use crate::key::{self, KeyKind};

const SECRET: &str = "server.secret";
const ADMIN_EMAIL: &str = "admin@localhost";

/// The secret all servers on this store sign with, made once.
pub(crate) fn secret(store: &Store, entropy: &dyn Entropy) -> Result<Vec<u8>, Denied> {
    let mut random = [0; 32];
    entropy.fill(&mut random);
    let candidate = kiln_kernel::hex::encode(&random);
    let secret: String = store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            Ok::<_, Denied>(setting::put_if_absent(tx, SECRET, &candidate)?)
        })
        .wait()?;
    Ok(secret.into_bytes())
}

/// Makes the first administrator and answers the key, which is shown once; `None` when there is one already.
pub(crate) fn admin(
    store: &Store,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<Option<String>, Denied> {
    let key = key::mint(KeyKind::User, entropy);
    let hash = key::hash(&key);
    let (user, uuid) = (
        UserUuid::mint(clock.wall(), entropy),
        KeyUuid::mint(clock.wall(), entropy),
    );
    let made = store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            tx.serialize_on("first start")?;
            if account::find_by_email(tx, ADMIN_EMAIL)?.is_some() {
                return Ok::<_, Denied>(false);
            }
            let id = account::insert(tx, user, "Admin", ADMIN_EMAIL, true)?;
            account::insert_key(tx, uuid, id, "first key", &hash)?;
            Ok(true)
        })
        .wait()?;
    Ok(made.then_some(key))
}

/// Another key for the administrator.
pub(crate) fn another_admin_key(
    store: &Store,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<String, Denied> {
    let key = key::mint(KeyKind::User, entropy);
    let hash = key::hash(&key);
    let uuid = KeyUuid::mint(clock.wall(), entropy);
    store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            let admin = account::find_by_email(tx, ADMIN_EMAIL)?
                .ok_or(Denied::NotFound("administrator"))?;
            account::insert_key(tx, uuid, admin.id, "operator", &hash)?;
            Ok::<_, Denied>(())
        })
        .wait()?;
    Ok(key)
}
