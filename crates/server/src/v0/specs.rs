//! Specs.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use kiln_control::Denied;
use kiln_model::v0::{NewSpec, Spec};
use kiln_model::{Slug, SpecUuid};
use kiln_store::sql::{lane, spec};
use kiln_store::{DatabaseErrorKind, Error, Tx};

use crate::app::Shared;
use crate::error::{ApiError, ApiResult};
use crate::identity::Admin;
use crate::view;

pub(super) async fn list_specs(State(app): State<Shared>, _: Admin) -> ApiResult<Json<Vec<Spec>>> {
    let specs = app.store.reader.read(|query| spec::list(query)).await?;
    Ok(Json(specs.iter().map(view::spec).collect()))
}

pub(super) async fn get_spec(
    State(app): State<Shared>,
    _: Admin,
    Path(reference): Path<String>,
) -> ApiResult<Json<Spec>> {
    let found = app
        .store
        .reader
        .read(move |query| spec::find_by_ref(query, &reference))
        .await?;
    Ok(Json(view::spec(
        &found.ok_or_else(|| ApiError::not_found("spec"))?,
    )))
}

pub(super) async fn create_spec(
    State(app): State<Shared>,
    _: Admin,
    Json(new): Json<NewSpec>,
) -> ApiResult<(StatusCode, Json<Spec>)> {
    check(&new)?;
    let uuid = SpecUuid::mint(app.wall(), &*app.entropy);
    let slug = match new.slug.clone() {
        Some(slug) => slug,
        None => Slug::suggest(new.name.as_str())
            .ok_or_else(|| ApiError::bad_request("the name makes no slug: give one in `slug`"))?,
    };
    let made = app
        .store
        .ledger
        .submit(move |tx: &mut dyn Tx| insert(tx, uuid, &slug, &new))
        .await?;
    Ok((StatusCode::CREATED, Json(view::spec(&made))))
}

fn check(new: &NewSpec) -> ApiResult<()> {
    let fits = |value: u64, limit: u64| (1..=limit).contains(&value);
    if !fits(u64::from(new.cpu), u64::from(i32::MAX.unsigned_abs())) {
        return Err(ApiError::bad_request("`cpu` is from 1 to 2147483647"));
    }
    let most = i64::MAX.unsigned_abs();
    if !fits(new.memory, most) || !fits(new.disk, most) {
        return Err(ApiError::bad_request(
            "`memory` and `disk` are from 1 to 9223372036854775807 bytes",
        ));
    }
    if new
        .sandbox
        .as_deref()
        .is_some_and(|sandbox| sandbox != "firecracker")
    {
        return Err(ApiError::bad_request(
            "`sandbox` is \"firecracker\" (a microVM) or absent",
        ));
    }
    Ok(())
}

fn insert(
    tx: &mut dyn Tx,
    uuid: SpecUuid,
    slug: &Slug,
    new: &NewSpec,
) -> Result<spec::Spec, Denied> {
    let wall = tx.wall();
    if new.fallback {
        spec::clear_fallback(tx)?;
    }
    let mut row = spec::Spec {
        id: 0,
        uuid,
        lane: lane::ensure(tx, &format!("spec:{uuid}"))?,
        name: new.name.clone(),
        slug: slug.clone(),
        os: new.os,
        architecture: new.architecture,
        sandbox: new.sandbox.clone(),
        cpu: new.cpu,
        memory: new.memory,
        disk: new.disk,
        network: new.network,
        fallback: new.fallback.then_some(wall),
        created: wall,
        modified: wall,
        archived: None,
    };
    row.id = spec::insert(tx, &row).map_err(|error| taken(error, "a spec with this slug"))?;
    Ok(row)
}

/// A unique constraint that said no.
pub(super) fn taken(error: Error, what: &'static str) -> Denied {
    let constraint = matches!(
        error,
        Error::Database {
            kind: DatabaseErrorKind::Constraint,
            ..
        }
    );
    if constraint {
        Denied::Taken(what)
    } else {
        Denied::Store(error)
    }
}
