//! Who is asking.

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use kiln_control::{Denied, access};
use kiln_store::sql::account::{self, Account};
use kiln_store::sql::project_key;
use kiln_store::{Error, Query};

use crate::app::Shared;
use crate::error::{ApiError, ApiResult};
use crate::key::{self, KeyKind};
use crate::limits;
use crate::metrics::Count;

/// Anybody: a person, the holder of a project's key, or nobody in particular. A credential that is sent must be good.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) access::Caller);

/// The server's administrator.
#[derive(Clone, Debug)]
pub(crate) struct Admin(pub(crate) access::Caller);

/// A person with a live key.
#[derive(Clone, Debug)]
pub(crate) struct User(pub(crate) Account);

/// The credential of a request, not yet checked.
pub(crate) fn bearer(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whose key this is.
async fn account_of(app: &Shared, credential: &str) -> Result<Option<Account>, Error> {
    if !credential.starts_with(KeyKind::User.prefix()) {
        return Ok(None);
    }
    let (hash, wall) = (key::hash(credential), app.wall());
    app.store
        .reader
        .read(move |query| account::find_by_key(query, &hash, wall))
        .await
}

/// Whom this credential shows, if anybody. The request is counted as theirs.
pub(crate) async fn caller_of(
    app: &Shared,
    credential: &str,
) -> Result<Option<access::Caller>, Denied> {
    let caller = find_caller(app, credential).await?;
    if let Some(caller) = &caller {
        limits::count_request(app, caller)?;
    }
    Ok(caller)
}

async fn find_caller(app: &Shared, credential: &str) -> Result<Option<access::Caller>, Error> {
    if credential.starts_with(KeyKind::Project.prefix()) {
        let (hash, wall) = (key::hash(credential), app.wall());
        let find = move |query: &mut dyn Query| project_key::find_by_hash(query, &hash, wall);
        let found = app.store.reader.read(find).await?;
        if found.is_none() {
            app.metrics.count(Count::ProjectKeyRefused);
        }
        return Ok(found.map(access::Caller::ProjectKey));
    }
    let found = account_of(app, credential).await?;
    Ok(found.map(access::Caller::Account))
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> ApiResult<Self> {
        if !parts.headers.contains_key(AUTHORIZATION) {
            return Ok(Self(access::Caller::Anonymous));
        }
        let credential = bearer(parts).ok_or_else(ApiError::unauthorized)?.to_owned();
        let caller = caller_of(app, &credential).await?;
        caller.map(Self).ok_or_else(ApiError::unauthorized)
    }
}

impl FromRequestParts<Shared> for User {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> ApiResult<Self> {
        if !parts.headers.contains_key(AUTHORIZATION) {
            return Err(ApiError::no_credentials());
        }
        match Caller::from_request_parts(parts, app).await?.0 {
            access::Caller::Account(account) => Ok(Self(account)),
            access::Caller::ProjectKey(_) => Err(ApiError::forbidden()),
            access::Caller::Anonymous => Err(ApiError::unauthorized()),
        }
    }
}

impl FromRequestParts<Shared> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> ApiResult<Self> {
        let User(account) = User::from_request_parts(parts, app).await?;
        let caller = access::Caller::Account(account);
        access::administrator(&caller)?;
        Ok(Self(caller))
    }
}
