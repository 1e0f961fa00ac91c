//! What a new store needs before it can serve: a secret to sign with, and somebody who may administer it.

use kiln_control::people::{self, NewAccount, NewKeyParts};
use kiln_control::{Denied, NewSlug};
use kiln_model::v0::PlanLevel;
use kiln_model::{Clock, Entropy, KeyUuid, OrganizationUuid, UserUuid};
use kiln_store::sql::{organization, setting};
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

/// Where plans decide, new organizations begin with the smallest one.
pub(crate) fn plans(store: &Store, in_force: bool) -> Result<(), Denied> {
    let plan = if in_force {
        PlanLevel::Free
    } else {
        PlanLevel::Enterprise
    };
    let put = move |tx: &mut dyn Tx| Ok::<_, Denied>(organization::set_first_plan(tx, plan)?);
    store.ledger.submit(put).wait()
}

/// Makes the first administrator and answers the key, which is shown once; `None` when there is one already.
pub(crate) fn admin(
    store: &Store,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<Option<String>, Denied> {
    let key = key::mint(KeyKind::User, entropy);
    let parts = key_parts(&key, clock, entropy);
    let ids = NewAccount {
        uuid: UserUuid::mint(clock.wall(), entropy),
        organization: OrganizationUuid::mint(clock.wall(), entropy),
        slug: NewSlug {
            asked: None,
            suffix: key::mint_suffix(entropy),
        },
    };
    let made = store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            let email = ADMIN_EMAIL.parse().expect("a valid address");
            let made = people::create_first_admin(tx, &email, &ids)?;
            if made.is_some() {
                let name = "first key".parse().expect("a valid name");
                people::operator_key(tx, ADMIN_EMAIL, &name, &parts)?;
            }
            Ok::<_, Denied>(made.is_some())
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
    let parts = key_parts(&key, clock, entropy);
    store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            let name = "operator".parse().expect("a valid name");
            people::operator_key(tx, ADMIN_EMAIL, &name, &parts)
        })
        .wait()?;
    Ok(key)
}

fn key_parts(key: &str, clock: &dyn Clock, entropy: &dyn Entropy) -> NewKeyParts {
    NewKeyParts {
        uuid: KeyUuid::mint(clock.wall(), entropy),
        hash: key::hash(key),
    }
}
