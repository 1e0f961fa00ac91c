//! Keys of a project.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use kiln_control::{Denied, access, projects};
use kiln_model::KeyUuid;
use kiln_model::v0::{CreatedProjectKey, NewKey, Permission, ProjectKey, UpdateKey};
use kiln_store::sql::project_key;
use kiln_store::{Query, Tx};

use super::listing::{ListQuery, Listed};
use super::user_keys::mint;
use super::users::no_content;
use crate::app::Shared;
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::Caller;
use crate::key::KeyKind;
use crate::view;

pub(super) async fn list_project_keys(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(reference): Path<String>,
    UrlQuery(query): UrlQuery<ListQuery>,
) -> ApiResult<Listed<ProjectKey>> {
    let listing = query.listing();
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &reference, Permission::Manage)?;
        let page = project_key::list(query, project.id, &listing)?;
        Ok::<_, Denied>((project, page))
    };
    let (project, page) = app.store.reader.read(read).await?;
    Ok(Listed::page(&page, |key| view::project_key(&project, key)))
}

pub(super) async fn create_project_key(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(reference): Path<String>,
    Body(new): Body<NewKey>,
) -> ApiResult<(StatusCode, Json<CreatedProjectKey>)> {
    let (key, parts) = mint(&app, KeyKind::Project);
    let create =
        move |tx: &mut dyn Tx| projects::create_project_key(tx, &caller, &reference, &new, &parts);
    let (project, made) = app.store.ledger.submit(create).await?;
    let shown = view::project_key(&project, &made);
    let created = CreatedProjectKey {
        uuid: shown.uuid,
        project: shown.project,
        name: shown.name,
        key,
        creation: shown.creation,
        expiration: shown.expiration,
    };
    Ok((StatusCode::CREATED, Json(created)))
}

pub(super) async fn get_project_key(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((reference, uuid)): Path<(String, KeyUuid)>,
) -> ApiResult<Json<ProjectKey>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &reference, Permission::Manage)?;
        let found = project_key::find(query, project.id, uuid)?.ok_or(Denied::NotFound("key"))?;
        Ok::<_, Denied>(view::project_key(&project, &found))
    };
    Ok(Json(app.store.reader.read(read).await?))
}

pub(super) async fn update_project_key(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((reference, uuid)): Path<(String, KeyUuid)>,
    Body(change): Body<UpdateKey>,
) -> ApiResult<Json<ProjectKey>> {
    let rename = move |tx: &mut dyn Tx| {
        projects::rename_project_key(tx, &caller, &reference, uuid, &change.name)
    };
    let (project, key) = app.store.ledger.submit(rename).await?;
    Ok(Json(view::project_key(&project, &key)))
}

pub(super) async fn revoke_project_key(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((reference, uuid)): Path<(String, KeyUuid)>,
) -> ApiResult<StatusCode> {
    let revoke = move |tx: &mut dyn Tx| projects::revoke_project_key(tx, &caller, &reference, uuid);
    no_content(app.store.ledger.submit(revoke).await)
}
