//! Keys of people.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use kiln_control::Denied;
use kiln_control::access::{self, Caller};
use kiln_control::people::{self, NewKeyParts};
use kiln_model::KeyUuid;
use kiln_model::v0::{CreatedUserKey, NewKey, UpdateKey, UserKey};
use kiln_store::sql::account_key;
use kiln_store::{Query, Tx};

use super::listing::{ListQuery, Listed};
use super::users::no_content;
use crate::app::{App, Shared};
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::User;
use crate::key::{self, KeyKind};
use crate::view;

pub(super) async fn list_user_keys(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
    UrlQuery(query): UrlQuery<ListQuery>,
) -> ApiResult<Listed<UserKey>> {
    let (caller, listing) = (Caller::Account(account), query.listing());
    let read = move |query: &mut dyn Query| {
        let owner = access::person(query, &caller, &reference)?;
        let page = account_key::list(query, owner.id, &listing)?;
        Ok::<_, Denied>((owner, page))
    };
    let (owner, page) = app.store.reader.read(read).await?;
    Ok(Listed::page(&page, |key| view::user_key(&owner, key)))
}

pub(super) async fn create_user_key(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
    Body(new): Body<NewKey>,
) -> ApiResult<(StatusCode, Json<CreatedUserKey>)> {
    let caller = Caller::Account(account);
    let (key, parts) = mint(&app, KeyKind::User);
    let create = move |tx: &mut dyn Tx| people::create_key(tx, &caller, &reference, &new, &parts);
    let (owner, made) = app.store.ledger.submit(create).await?;
    let shown = view::user_key(&owner, &made);
    let created = CreatedUserKey {
        uuid: shown.uuid,
        user: shown.user,
        name: shown.name,
        key,
        creation: shown.creation,
        expiration: shown.expiration,
    };
    Ok((StatusCode::CREATED, Json(created)))
}

pub(super) async fn get_user_key(
    State(app): State<Shared>,
    User(account): User,
    Path((reference, uuid)): Path<(String, KeyUuid)>,
) -> ApiResult<Json<UserKey>> {
    let caller = Caller::Account(account);
    let read = move |query: &mut dyn Query| {
        let owner = access::person(query, &caller, &reference)?;
        let found = account_key::find(query, owner.id, uuid)?.ok_or(Denied::NotFound("key"))?;
        Ok::<_, Denied>(view::user_key(&owner, &found))
    };
    Ok(Json(app.store.reader.read(read).await?))
}

pub(super) async fn update_user_key(
    State(app): State<Shared>,
    User(account): User,
    Path((reference, uuid)): Path<(String, KeyUuid)>,
    Body(change): Body<UpdateKey>,
) -> ApiResult<Json<UserKey>> {
    let caller = Caller::Account(account);
    let rename =
        move |tx: &mut dyn Tx| people::rename_key(tx, &caller, &reference, uuid, &change.name);
    let (owner, key) = app.store.ledger.submit(rename).await?;
    Ok(Json(view::user_key(&owner, &key)))
}

pub(super) async fn revoke_user_key(
    State(app): State<Shared>,
    User(account): User,
    Path((reference, uuid)): Path<(String, KeyUuid)>,
) -> ApiResult<StatusCode> {
    let caller = Caller::Account(account);
    let revoke = move |tx: &mut dyn Tx| people::revoke_key(tx, &caller, &reference, uuid);
    no_content(app.store.ledger.submit(revoke).await)
}

/// A new key and what is kept of it.
pub(super) fn mint(app: &App, kind: KeyKind) -> (String, NewKeyParts) {
    let key = key::mint(kind, &*app.entropy);
    let parts = NewKeyParts {
        uuid: KeyUuid::mint(app.wall(), &*app.entropy),
        hash: key::hash(&key),
    };
    (key, parts)
}
