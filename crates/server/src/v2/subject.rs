//! Whom a token speaks for. Their rights are looked up when it is used, so a person who was locked, or a key that was
//! revoked, has none from then on.

use kiln_control::access;
use kiln_model::Millis;
use kiln_store::sql::{account, account_key, project_key};
use kiln_store::{Error, Query};

use crate::token::{Audience, Claims};

const ANONYMOUS: &str = "anonymous";

/// How the holder of this credential stands in a token: by the key, since that is what can be revoked.
pub(super) fn name<Q: Query + ?Sized>(
    query: &mut Q,
    caller: &access::Caller,
    key_hash: Option<&str>,
) -> Result<Option<(Audience, String)>, Error> {
    Ok(match (caller, key_hash) {
        (access::Caller::Anonymous, _) => Some((Audience::Public, ANONYMOUS.to_owned())),
        (access::Caller::ProjectKey(key), _) => Some((Audience::Project, key.uuid.to_string())),
        (access::Caller::Account(_), Some(hash)) => {
            let key = account_key::uuid_of(query, hash)?;
            key.map(|key| (Audience::Person, key.to_string()))
        }
        (access::Caller::Account(_), None) => None,
    })
}

/// The caller behind a token; none when they may not come in any more, or it is a runner's.
pub(super) fn find<Q: Query + ?Sized>(
    query: &mut Q,
    claims: &Claims,
    wall: Millis,
) -> Result<Option<access::Caller>, Error> {
    match claims.aud {
        Audience::Public => Ok(Some(access::Caller::Anonymous)),
        Audience::Person => {
            let Ok(key) = claims.sub.parse() else {
                return Ok(None);
            };
            let found = account::find_by_key_uuid(query, key, wall)?;
            Ok(found.map(access::Caller::Account))
        }
        Audience::Project => {
            let Ok(key) = claims.sub.parse() else {
                return Ok(None);
            };
            let found = project_key::find_live(query, key, wall)?;
            Ok(found.map(access::Caller::ProjectKey))
        }
        Audience::Runner => Ok(None),
    }
}
