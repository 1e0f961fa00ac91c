//! Members of an organization.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use kiln_control::access::{self, Caller};
use kiln_control::{Denied, people};
use kiln_model::v0::{Invited, Member, NewMember, Permission, UpdateMember};
use kiln_store::sql::member;
use kiln_store::{Query, Tx};

use super::listing::{ListQuery, Listed};
use super::users::{new_account, no_content};
use crate::app::Shared;
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::User;
use crate::metrics::Count;
use crate::view;

pub(super) async fn list_members(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
    UrlQuery(query): UrlQuery<ListQuery>,
) -> ApiResult<Listed<Member>> {
    let (caller, listing) = (Caller::Account(account), query.listing());
    let read = move |query: &mut dyn Query| {
        let found = access::organization(query, &caller, &reference, Permission::ViewRole)?;
        Ok::<_, Denied>(member::list(query, found.id, &listing)?)
    };
    let page = app.store.reader.read(read).await?;
    Ok(Listed::page(&page, view::member))
}

pub(super) async fn create_member(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
    Body(new): Body<NewMember>,
) -> ApiResult<(StatusCode, Json<Invited>)> {
    let caller = Caller::Account(account);
    let ids = new_account(&app, None);
    let invited = Invited {
        email: new.email.clone(),
    };
    let invite = move |tx: &mut dyn Tx| people::invite(tx, &caller, &reference, &new, &ids);
    app.store.ledger.submit(invite).await?;
    app.metrics.count(Count::UserInvite);
    Ok((StatusCode::ACCEPTED, Json(invited)))
}

pub(super) async fn get_member(
    State(app): State<Shared>,
    User(account): User,
    Path((reference, user)): Path<(String, String)>,
) -> ApiResult<Json<Member>> {
    let caller = Caller::Account(account);
    let read = move |query: &mut dyn Query| {
        let found = access::organization(query, &caller, &reference, Permission::ViewRole)?;
        member::find(query, found.id, &user)?.ok_or(Denied::NotFound("member"))
    };
    Ok(Json(view::member(&app.store.reader.read(read).await?)))
}

pub(super) async fn update_member(
    State(app): State<Shared>,
    User(account): User,
    Path((reference, user)): Path<(String, String)>,
    Body(change): Body<UpdateMember>,
) -> ApiResult<Json<Member>> {
    let caller = Caller::Account(account);
    let update =
        move |tx: &mut dyn Tx| people::update_member(tx, &caller, &reference, &user, change.role);
    Ok(Json(view::member(&app.store.ledger.submit(update).await?)))
}

pub(super) async fn delete_member(
    State(app): State<Shared>,
    User(account): User,
    Path((reference, user)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let caller = Caller::Account(account);
    let remove = move |tx: &mut dyn Tx| people::remove_member(tx, &caller, &reference, &user);
    no_content(app.store.ledger.submit(remove).await)
}
