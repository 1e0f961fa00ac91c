//! Runners and their keys.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use kiln_control::Denied;
use kiln_model::v0::{NewRunner, Runner, RunnerKey, Spec, SpecRef};
use kiln_model::{RunnerUuid, Slug};
use kiln_store::sql::{lane, runner, spec};
use kiln_store::{Query, Tx};

use super::specs::taken;
use crate::app::Shared;
use crate::error::{ApiError, ApiResult};
use crate::identity::Admin;
use crate::key::{self, KeyKind};
use crate::view;

pub(super) async fn list_runners(
    State(app): State<Shared>,
    _: Admin,
) -> ApiResult<Json<Vec<Runner>>> {
    let read = |query: &mut dyn Query| {
        runner::list(query)?
            .iter()
            .map(|row| Ok(view::runner(row, &spec::of_runner(query, row.id)?)))
            .collect::<Result<Vec<_>, kiln_store::Error>>()
    };
    Ok(Json(app.store.reader.read(read).await?))
}

pub(super) async fn get_runner(
    State(app): State<Shared>,
    _: Admin,
    Path(reference): Path<String>,
) -> ApiResult<Json<Runner>> {
    let read = move |query: &mut dyn Query| {
        let found = find(query, &reference)?;
        Ok::<_, Denied>(view::runner(&found, &spec::of_runner(query, found.id)?))
    };
    Ok(Json(app.store.reader.read(read).await?))
}

pub(super) async fn create_runner(
    State(app): State<Shared>,
    _: Admin,
    Json(new): Json<NewRunner>,
) -> ApiResult<(StatusCode, Json<RunnerKey>)> {
    let uuid = RunnerUuid::mint(app.wall(), &*app.entropy);
    let key = key::mint(KeyKind::Runner, &*app.entropy);
    let hash = key::hash(&key);
    let slug = match new.slug {
        Some(slug) => slug,
        None => Slug::suggest(new.name.as_str())
            .ok_or_else(|| ApiError::bad_request("the name makes no slug: give one in `slug`"))?,
    };
    let name = new.name;
    app.store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            runner::insert(tx, uuid, &name, &slug, &hash)
                .map_err(|error| taken(error, "a runner with this slug"))
        })
        .await?;
    Ok((StatusCode::CREATED, Json(RunnerKey { uuid, key })))
}

pub(super) async fn rotate_key(
    State(app): State<Shared>,
    _: Admin,
    Path(reference): Path<String>,
) -> ApiResult<(StatusCode, Json<RunnerKey>)> {
    let key = key::mint(KeyKind::Runner, &*app.entropy);
    let hash = key::hash(&key);
    let rotate = move |tx: &mut dyn Tx| {
        let found = find(tx, &reference)?;
        if found.archived.is_some() {
            return Err(Denied::Taken(
                "the key of an archived runner cannot be rotated: its place",
            ));
        }
        runner::set_key(tx, found.id, &hash)?;
        Ok::<_, Denied>(found.uuid)
    };
    let uuid = app.store.ledger.submit(rotate).await?;
    Ok((StatusCode::CREATED, Json(RunnerKey { uuid, key })))
}

pub(super) async fn list_specs(
    State(app): State<Shared>,
    _: Admin,
    Path(reference): Path<String>,
) -> ApiResult<Json<Vec<Spec>>> {
    let read = move |query: &mut dyn Query| {
        let found = find(query, &reference)?;
        Ok::<_, Denied>(spec::of_runner(query, found.id)?)
    };
    let specs = app.store.reader.read(read).await?;
    Ok(Json(specs.iter().map(view::spec).collect()))
}

pub(super) async fn add_spec(
    State(app): State<Shared>,
    _: Admin,
    Path(reference): Path<String>,
    Json(new): Json<SpecRef>,
) -> ApiResult<(StatusCode, Json<Spec>)> {
    let add = move |tx: &mut dyn Tx| {
        let found = find(tx, &reference)?;
        let spec = spec::find_by_ref(tx, &new.spec)?.ok_or(Denied::NotFound("spec"))?;
        if !lane::link(tx, found.id, spec.lane)? {
            return Err(Denied::Taken("this spec of the runner"));
        }
        Ok(spec)
    };
    let spec = app.store.ledger.submit(add).await?;
    Ok((StatusCode::CREATED, Json(view::spec(&spec))))
}

fn find<Q: Query + ?Sized>(query: &mut Q, reference: &str) -> Result<runner::Runner, Denied> {
    runner::find_by_ref(query, reference)?.ok_or(Denied::NotFound("runner"))
}
