//! People.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use kiln_control::access::{self, Caller};
use kiln_control::people::{self, NewAccount};
use kiln_control::{Denied, NewSlug};
use kiln_model::v0::{NewUser, UpdateUser, User as ShownUser};
use kiln_model::{OrganizationUuid, Slug, UserUuid};
use kiln_store::sql::account;
use kiln_store::{Query, Tx};

use super::listing::{ListQuery, Listed};
use crate::app::{App, Shared};
use crate::body::Body;
use crate::error::{ApiError, ApiResult};
use crate::identity::{Admin, User};
use crate::metrics::Count;
use crate::{key, view};

pub(super) async fn list_users(
    State(app): State<Shared>,
    _: Admin,
    UrlQuery(query): UrlQuery<ListQuery>,
) -> ApiResult<Listed<ShownUser>> {
    let listing = query.listing();
    let read = move |query: &mut dyn Query| account::list(query, &listing);
    let page = app.store.reader.read(read).await?;
    Ok(Listed::page(&page, view::user))
}

pub(super) async fn create_user(
    State(app): State<Shared>,
    Admin(caller): Admin,
    Body(new): Body<NewUser>,
) -> ApiResult<(StatusCode, Json<ShownUser>)> {
    let ids = new_account(&app, new.slug.clone());
    let create = move |tx: &mut dyn Tx| people::create_account(tx, &caller, &new, &ids);
    let made = app.store.ledger.submit(create).await?;
    app.metrics.count(Count::UserCreate);
    Ok((StatusCode::CREATED, Json(view::user(&made))))
}

pub(super) async fn get_user(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
) -> ApiResult<Json<ShownUser>> {
    let caller = Caller::Account(account);
    let read = move |query: &mut dyn Query| access::person(query, &caller, &reference);
    Ok(Json(view::user(&app.store.reader.read(read).await?)))
}

pub(super) async fn update_user(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
    Body(change): Body<UpdateUser>,
) -> ApiResult<Json<ShownUser>> {
    let caller = Caller::Account(account);
    let update = move |tx: &mut dyn Tx| people::update_account(tx, &caller, &reference, &change);
    Ok(Json(view::user(&app.store.ledger.submit(update).await?)))
}

/// Stock servers had tokens before they had keys. Nobody has one here.
pub(super) async fn list_tokens(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
) -> ApiResult<Listed<()>> {
    let caller = Caller::Account(account);
    let read = move |query: &mut dyn Query| access::person(query, &caller, &reference).map(drop);
    app.store.reader.read(read).await?;
    Ok(Listed::whole(Vec::new()))
}

pub(super) async fn create_token(_: User) -> ApiResult<StatusCode> {
    Err(ApiError::new(
        StatusCode::FORBIDDEN,
        "forbidden",
        "there are no user tokens any more: make a key with `POST /v0/users/{user}/keys`",
    ))
}

/// Ids for a person who may turn out to be new.
pub(super) fn new_account(app: &App, asked: Option<Slug>) -> NewAccount {
    let (wall, entropy) = (app.wall(), &*app.entropy);
    NewAccount {
        uuid: UserUuid::mint(wall, entropy),
        organization: OrganizationUuid::mint(wall, entropy),
        slug: new_slug(app, asked),
    }
}

pub(super) fn new_slug(app: &App, asked: Option<Slug>) -> NewSlug {
    NewSlug {
        asked,
        suffix: key::mint_suffix(&*app.entropy),
    }
}

/// For closures that answer nothing.
pub(super) fn no_content<T>(outcome: Result<T, Denied>) -> ApiResult<StatusCode> {
    outcome?;
    Ok(StatusCode::NO_CONTENT)
}
