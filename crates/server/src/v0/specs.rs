//! Specs.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use kiln_control::fleet;
use kiln_model::SpecUuid;
use kiln_model::v0::{NewSpec, Spec, UpdateSpec};
use kiln_store::sql::spec;
use kiln_store::{Query, Tx};

use super::listing::{ListQuery, Listed};
use super::users::{new_slug, no_content};
use crate::app::Shared;
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::Admin;
use crate::view;

pub(super) async fn list_specs(
    State(app): State<Shared>,
    _: Admin,
    UrlQuery(query): UrlQuery<ListQuery>,
) -> ApiResult<Listed<Spec>> {
    let listing = query.listing();
    let read = move |query: &mut dyn Query| spec::list(query, &listing);
    let page = app.store.reader.read(read).await?;
    Ok(Listed::page(&page, view::spec))
}

pub(super) async fn get_spec(
    State(app): State<Shared>,
    _: Admin,
    Path(reference): Path<String>,
) -> ApiResult<Json<Spec>> {
    let read = move |query: &mut dyn Query| fleet::find_spec(query, &reference);
    Ok(Json(view::spec(&app.store.reader.read(read).await?)))
}

pub(super) async fn create_spec(
    State(app): State<Shared>,
    Admin(caller): Admin,
    Body(new): Body<NewSpec>,
) -> ApiResult<(StatusCode, Json<Spec>)> {
    let uuid = SpecUuid::mint(app.wall(), &*app.entropy);
    let slug = new_slug(&app, new.slug.clone());
    let create = move |tx: &mut dyn Tx| fleet::create_spec(tx, &caller, &new, uuid, &slug);
    let made = app.store.ledger.submit(create).await?;
    Ok((StatusCode::CREATED, Json(view::spec(&made))))
}

pub(super) async fn update_spec(
    State(app): State<Shared>,
    Admin(caller): Admin,
    Path(reference): Path<String>,
    Body(change): Body<UpdateSpec>,
) -> ApiResult<Json<Spec>> {
    let update = move |tx: &mut dyn Tx| fleet::update_spec(tx, &caller, &reference, &change);
    Ok(Json(view::spec(&app.store.ledger.submit(update).await?)))
}

pub(super) async fn delete_spec(
    State(app): State<Shared>,
    Admin(caller): Admin,
    Path(reference): Path<String>,
) -> ApiResult<StatusCode> {
    let delete = move |tx: &mut dyn Tx| fleet::delete_spec(tx, &caller, &reference);
    no_content(app.store.ledger.submit(delete).await)
}
