//! Whom a token speaks for. Their rights are looked up when it is used, so a person who was locked, or a key that was
//! revoked, has none from then on.

use kiln_control::access;
use kiln_model::Millis;
use kiln_store::sql::{account, project_key};
use kiln_store::{Error, Query};

use crate::token::{Audience, Claims};

const ANONYMOUS: &str = "anonymous";

/// How the caller stands in a token.
pub(super) fn name(caller: &access::Caller) -> (Audience, String) {
    match caller {
        access::Caller::Anonymous => (Audience::Public, ANONYMOUS.to_owned()),
        access::Caller::Account(account) => (Audience::Person, account.uuid.to_string()),
        access::Caller::ProjectKey(key) => (Audience::Project, key.uuid.to_string()),
    }
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
            let Ok(uuid) = claims.sub.parse() else {
                return Ok(None);
            };
            let found = account::find_live(query, uuid)?;
            Ok(found.map(access::Caller::Account))
        }
        Audience::Project => {
            let Ok(uuid) = claims.sub.parse() else {
                return Ok(None);
            };
            let found = project_key::find_live(query, uuid, wall)?;
            Ok(found.map(access::Caller::ProjectKey))
        }
        Audience::Runner => Ok(None),
    }
}
