//! Runners and their credentials.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use kiln_control::{Denied, fleet};
use kiln_model::v0::{NewRunner, Runner, RunnerKey, RunnerToken, Spec, SpecRef, UpdateRunner};
use kiln_model::{Millis, RunnerUuid};
use kiln_store::sql::listing::Page;
use kiln_store::sql::{runner, spec};
use kiln_store::{Query, Tx};

use super::listing::{ListQuery, Listed};
use super::users::no_content;
use crate::app::Shared;
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::Admin;
use crate::key::{self, KeyKind};
use crate::metrics::Count;
use crate::view;

pub(super) async fn list_runners(
    State(app): State<Shared>,
    _: Admin,
    UrlQuery(query): UrlQuery<ListQuery>,
) -> ApiResult<Listed<Runner>> {
    let (listing, wall) = (query.listing(), app.wall());
    let read = move |query: &mut dyn Query| {
        let page = runner::list(query, &listing)?;
        let items = page
            .items
            .iter()
            .map(|row| show(query, row, wall))
            .collect::<Result<Vec<_>, Denied>>()?;
        let total = page.total;
        Ok::<_, Denied>(Page { items, total })
    };
    let page = app.store.reader.read(read).await?;
    Ok(Listed {
        items: page.items,
        total: page.total,
    })
}

pub(super) async fn get_runner(
    State(app): State<Shared>,
    _: Admin,
    Path(reference): Path<String>,
) -> ApiResult<Json<Runner>> {
    let wall = app.wall();
    let read = move |query: &mut dyn Query| {
        let found = fleet::find_runner(query, &reference)?;
        show(query, &found, wall)
    };
    Ok(Json(app.store.reader.read(read).await?))
}

pub(super) async fn create_runner(
    State(app): State<Shared>,
    Admin(caller): Admin,
    Body(new): Body<NewRunner>,
) -> ApiResult<(StatusCode, Json<RunnerKey>)> {
    let uuid = RunnerUuid::mint(app.wall(), &*app.entropy);
    let key = key::mint(KeyKind::Runner, &*app.entropy);
    let hash = key::hash(&key);
    let create = move |tx: &mut dyn Tx| fleet::create_runner(tx, &caller, &new, uuid, &hash);
    app.store.ledger.submit(create).await?;
    app.metrics.count(Count::RunnerCreate);
    Ok((StatusCode::CREATED, Json(RunnerKey { uuid, key })))
}

pub(super) async fn update_runner(
    State(app): State<Shared>,
    Admin(caller): Admin,
    Path(reference): Path<String>,
    Body(change): Body<UpdateRunner>,
) -> ApiResult<Json<Runner>> {
    let update = move |tx: &mut dyn Tx| {
        let found = fleet::update_runner(tx, &caller, &reference, &change)?;
        show(tx, &found, tx.wall())
    };
    let updated = app.store.ledger.submit(update).await?;
    app.metrics.count(Count::RunnerUpdate);
    Ok(Json(updated))
}

/// The form of credential that stock clients insist on.
pub(super) async fn rotate_key(
    State(app): State<Shared>,
    Admin(caller): Admin,
    Path(reference): Path<String>,
) -> ApiResult<(StatusCode, Json<RunnerKey>)> {
    let key = key::mint(KeyKind::Runner, &*app.entropy);
    let hash = key::hash(&key);
    let rotate = move |tx: &mut dyn Tx| fleet::rotate_credential(tx, &caller, &reference, &hash);
    let uuid = app.store.ledger.submit(rotate).await?;
    app.metrics.count(Count::RunnerKeyRotate);
    Ok((StatusCode::CREATED, Json(RunnerKey { uuid, key })))
}

/// The longer form, of the older protocol.
pub(super) async fn rotate_token(
    State(app): State<Shared>,
    Admin(caller): Admin,
    Path(reference): Path<String>,
) -> ApiResult<(StatusCode, Json<RunnerToken>)> {
    let token = key::mint_runner_token(&*app.entropy);
    let hash = key::hash(&token);
    let rotate = move |tx: &mut dyn Tx| fleet::rotate_credential(tx, &caller, &reference, &hash);
    let uuid = app.store.ledger.submit(rotate).await?;
    app.metrics.count(Count::RunnerKeyRotate);
    Ok((StatusCode::CREATED, Json(RunnerToken { uuid, token })))
}

pub(super) async fn list_runner_specs(
    State(app): State<Shared>,
    _: Admin,
    Path(reference): Path<String>,
) -> ApiResult<Listed<Spec>> {
    let read = move |query: &mut dyn Query| {
        let found = fleet::find_runner(query, &reference)?;
        Ok::<_, Denied>(spec::of_runner(query, found.id)?)
    };
    let specs = app.store.reader.read(read).await?;
    Ok(Listed::whole(specs.iter().map(view::spec).collect()))
}

pub(super) async fn add_runner_spec(
    State(app): State<Shared>,
    Admin(caller): Admin,
    Path(reference): Path<String>,
    Body(new): Body<SpecRef>,
) -> ApiResult<(StatusCode, Json<Spec>)> {
    let add = move |tx: &mut dyn Tx| fleet::link_spec(tx, &caller, &reference, &new.spec);
    let spec = app.store.ledger.submit(add).await?;
    Ok((StatusCode::CREATED, Json(view::spec(&spec))))
}

pub(super) async fn remove_runner_spec(
    State(app): State<Shared>,
    Admin(caller): Admin,
    Path((reference, spec)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let remove = move |tx: &mut dyn Tx| fleet::unlink_spec(tx, &caller, &reference, &spec);
    no_content(app.store.ledger.submit(remove).await)
}

fn show<Q: Query + ?Sized>(
    query: &mut Q,
    row: &runner::Runner,
    wall: Millis,
) -> Result<Runner, Denied> {
    let specs = spec::of_runner(query, row.id)?;
    Ok(view::runner(row, &specs, fleet::state(query, row, wall)?))
}
