//! Projects.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use kiln_control::access::{self, Caller as AccessCaller};
use kiln_control::{Denied, projects};
use kiln_model::ProjectUuid;
use kiln_model::v0::{Allowed, NewProject, Permission, Project, Spec, UpdateProject};
use kiln_store::sql::{project, spec};
use kiln_store::{Query, Tx};
use serde::Deserialize;

use super::listing::{ListQuery, Listed};
use super::users::{new_slug, no_content};
use crate::app::Shared;
use crate::body::Body;
use crate::error::{ApiError, ApiResult};
use crate::identity::{Caller, User};
use crate::metrics::Count;
use crate::view;

pub(super) async fn list_projects(
    State(app): State<Shared>,
    Caller(caller): Caller,
    UrlQuery(query): UrlQuery<ListQuery>,
) -> ApiResult<Listed<Project>> {
    let (listing, viewer) = (query.listing(), caller.viewer());
    let read = move |query: &mut dyn Query| project::list(query, None, viewer, &listing);
    let page = app.store.reader.read(read).await?;
    Ok(Listed::page(&page, view::project))
}

pub(super) async fn list_organization_projects(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
    UrlQuery(query): UrlQuery<ListQuery>,
) -> ApiResult<Listed<Project>> {
    let (caller, listing) = (AccessCaller::Account(account), query.listing());
    let read = move |query: &mut dyn Query| {
        let found = access::organization(query, &caller, &reference, Permission::View)?;
        let page = project::list(query, Some(found.id), caller.viewer(), &listing)?;
        Ok::<_, Denied>(page)
    };
    let page = app.store.reader.read(read).await?;
    Ok(Listed::page(&page, view::project))
}

pub(super) async fn create_project(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
    Body(new): Body<NewProject>,
) -> ApiResult<(StatusCode, Json<Project>)> {
    let caller = AccessCaller::Account(account);
    let uuid = ProjectUuid::mint(app.wall(), &*app.entropy);
    let slug = new_slug(&app, new.slug.clone());
    let create =
        move |tx: &mut dyn Tx| projects::create_project(tx, &caller, &reference, &new, uuid, &slug);
    let made = app.store.ledger.submit(create).await?;
    app.metrics.count(Count::ProjectCreate);
    Ok((StatusCode::CREATED, Json(view::project(&made))))
}

pub(super) async fn get_project(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(reference): Path<String>,
) -> ApiResult<Json<Project>> {
    let read =
        move |query: &mut dyn Query| access::project(query, &caller, &reference, Permission::View);
    Ok(Json(view::project(&app.store.reader.read(read).await?)))
}

pub(super) async fn update_project(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(reference): Path<String>,
    Body(change): Body<UpdateProject>,
) -> ApiResult<Json<Project>> {
    let update = move |tx: &mut dyn Tx| projects::update_project(tx, &caller, &reference, &change);
    Ok(Json(view::project(&app.store.ledger.submit(update).await?)))
}

#[derive(Debug, Deserialize)]
pub(super) struct Deletion {
    #[serde(default)]
    hard: bool,
}

pub(super) async fn delete_project(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(reference): Path<String>,
    UrlQuery(deletion): UrlQuery<Deletion>,
) -> ApiResult<StatusCode> {
    if deletion.hard {
        return Err(ApiError::bad_request(
            "`hard` is not offered: a deleted project is hidden, and its reports and jobs stay",
        ));
    }
    let delete = move |tx: &mut dyn Tx| projects::delete_project(tx, &caller, &reference);
    let deleted = app.store.ledger.submit(delete).await;
    if deleted.is_ok() {
        app.metrics.count(Count::ProjectDelete);
    }
    no_content(deleted)
}

pub(super) async fn get_project_allowed(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((reference, permission)): Path<(String, Permission)>,
) -> ApiResult<Json<Allowed>> {
    let read = move |query: &mut dyn Query| {
        let found = access::project(query, &caller, &reference, Permission::View)?;
        access::may_in_project(query, &caller, &found, permission)
    };
    let allowed = app.store.reader.read(read).await?;
    Ok(Json(Allowed { allowed }))
}

/// What a run of the project may ask for.
pub(super) async fn list_project_specs(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(reference): Path<String>,
    UrlQuery(query): UrlQuery<ListQuery>,
) -> ApiResult<Listed<Spec>> {
    let listing = query.listing();
    let read = move |query: &mut dyn Query| {
        access::project(query, &caller, &reference, Permission::View)?;
        Ok::<_, Denied>(spec::list(query, &listing)?)
    };
    let page = app.store.reader.read(read).await?;
    Ok(Listed::page(&page, view::spec))
}

pub(super) async fn get_project_spec(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((reference, spec)): Path<(String, String)>,
) -> ApiResult<Json<Spec>> {
    let read = move |query: &mut dyn Query| {
        access::project(query, &caller, &reference, Permission::View)?;
        kiln_control::fleet::find_spec(query, &spec)
    };
    Ok(Json(view::spec(&app.store.reader.read(read).await?)))
}
