//! What stock servers in the cloud do and this one leaves to others: mail, sign-on with other people's accounts, a shop. Clients that
//! ask for it are told what to do instead.

use axum::extract::{Path, State};
use kiln_control::access::{self, Caller};
use kiln_model::v0::{Permission, UserKey};
use kiln_store::Query;
use kiln_store::sql::account::Account;

use super::listing::Listed;
use crate::app::Shared;
use crate::error::{ApiError, ApiResult};
use crate::identity::User;

pub(super) async fn sign_up() -> ApiError {
    keys_only()
}

pub(super) async fn log_in() -> ApiError {
    keys_only()
}

pub(super) async fn confirm_login() -> ApiError {
    keys_only()
}

pub(super) async fn accept_invite() -> ApiError {
    keys_only()
}

pub(super) async fn get_github_url() -> ApiError {
    keys_only()
}

pub(super) async fn log_in_with_github() -> ApiError {
    keys_only()
}

pub(super) async fn get_google_url() -> ApiError {
    keys_only()
}

pub(super) async fn log_in_with_google() -> ApiError {
    keys_only()
}

pub(super) async fn check_out() -> ApiError {
    ApiError::not_supported(
        "this server sells nothing: an administrator sets plans, with `PATCH /v0/organizations/{organization}/plan`",
    )
}

/// Nobody signs on through another domain, so there are none.
pub(super) async fn list_sso(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
) -> ApiResult<Listed<UserKey>> {
    visible(&app, account, reference).await?;
    Ok(Listed::whole(Vec::new()))
}

pub(super) async fn create_sso(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
) -> ApiError {
    match visible(&app, account, reference).await {
        Ok(()) => keys_only(),
        Err(refused) => refused,
    }
}

pub(super) async fn get_sso(
    State(app): State<Shared>,
    User(account): User,
    Path((reference, _)): Path<(String, String)>,
) -> ApiError {
    no_domain(&app, account, reference).await
}

pub(super) async fn delete_sso(
    State(app): State<Shared>,
    User(account): User,
    Path((reference, _)): Path<(String, String)>,
) -> ApiError {
    no_domain(&app, account, reference).await
}

async fn no_domain(app: &Shared, account: Account, reference: String) -> ApiError {
    match visible(app, account, reference).await {
        Ok(()) => ApiError::not_found("domain"),
        Err(refused) => refused,
    }
}

async fn visible(app: &Shared, account: Account, reference: String) -> ApiResult<()> {
    let caller = Caller::Account(account);
    let read = move |query: &mut dyn Query| {
        access::organization(query, &caller, &reference, Permission::View).map(drop)
    };
    Ok(app.store.reader.read(read).await?)
}

fn keys_only() -> ApiError {
    ApiError::not_supported(
        "people have keys here and no mail or other accounts to sign in with: an administrator makes somebody known with `POST /v0/users` and a key with `POST /v0/users/{user}/keys`",
    )
}
