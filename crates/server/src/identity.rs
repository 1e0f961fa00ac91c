//! Who is asking.

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use kiln_store::sql::account::{self, Account};

use crate::app::Shared;
use crate::error::{ApiError, ApiResult};
use crate::key::{self, KeyKind};

/// The server's administrator.
#[derive(Clone, Debug)]
pub(crate) struct Admin;

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
pub(crate) async fn account_of(app: &Shared, credential: &str) -> ApiResult<Option<Account>> {
    if !credential.starts_with(KeyKind::User.prefix()) {
        return Ok(None);
    }
    let hash = key::hash(credential);
    let found = app
        .store
        .reader
        .read(move |query| account::find_by_key(query, &hash))
        .await;
    Ok(found?)
}

impl FromRequestParts<Shared> for User {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> ApiResult<Self> {
        let credential = bearer(parts).ok_or_else(ApiError::unauthorized)?.to_owned();
        account_of(app, &credential)
            .await?
            .map(User)
            .ok_or_else(ApiError::unauthorized)
    }
}

impl FromRequestParts<Shared> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> ApiResult<Self> {
        let User(account) = User::from_request_parts(parts, app).await?;
        // A stranger and a user without the right see the same.
        if account.admin {
            Ok(Self)
        } else {
            Err(ApiError::unauthorized())
        }
    }
}
