//! Thresholds of a project.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use kiln_control::{Denied, access, bench};
use kiln_model::v0::{NewThreshold, Permission, Threshold, ThresholdUpdate};
use kiln_store::sql::branch::Branch;
use kiln_store::sql::measure::Measure;
use kiln_store::sql::testbed::Testbed;
use kiln_store::sql::threshold::{self, Filter};
use kiln_store::sql::threshold_model;
use kiln_store::{Query, Tx};
use serde::Deserialize;

use super::dimensions::{id_of, seed};
use super::listing::Listed;
use super::paging::{BY_TIME, Paging, listed};
use super::show::Show;
use crate::app::Shared;
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::Caller;
use crate::metrics::Count;

#[derive(Debug, Deserialize)]
pub(super) struct ListQuery {
    branch: Option<String>,
    testbed: Option<String>,
    measure: Option<String>,
    /// Those of what is archived.
    #[serde(default)]
    archived: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct ModelQuery {
    model: Option<String>,
}

pub(super) async fn list_thresholds(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    UrlQuery(asked): UrlQuery<ListQuery>,
    UrlQuery(paging): UrlQuery<Paging>,
) -> ApiResult<Listed<Threshold>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let filter = Filter {
            branch: id_of::<Branch, _>(query, project.id, asked.branch.as_deref())?,
            testbed: id_of::<Testbed, _>(query, project.id, asked.testbed.as_deref())?,
            measure: id_of::<Measure, _>(query, project.id, asked.measure.as_deref())?,
            archived: asked.archived,
        };
        let rows = threshold::list(query, project.id, filter, paging.page(BY_TIME, false)?)?;
        let total = threshold::count(query, project.id, filter)?;
        let mut show = Show::new(query, &project);
        let rows = rows.iter().map(|row| show.threshold(row));
        let rows = rows.collect::<Result<Vec<_>, Denied>>()?;
        Ok::<_, Denied>(listed(rows, total))
    };
    Ok(app.store.reader.read(read).await?)
}

pub(super) async fn create_threshold(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    Body(new): Body<NewThreshold>,
) -> ApiResult<(StatusCode, Json<Threshold>)> {
    let seed = seed(&app);
    let create = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Create)?;
        let row = bench::create_threshold(tx, project.id, &new, &bench::Ids::new(seed))?;
        Show::new(tx, &project).threshold(&row)
    };
    let made = app.store.ledger.submit(create).await?;
    app.metrics.count(Count::ResourceCreate);
    Ok((StatusCode::CREATED, Json(made)))
}

pub(super) async fn get_threshold(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, uuid)): Path<(String, String)>,
    UrlQuery(asked): UrlQuery<ModelQuery>,
) -> ApiResult<Json<Threshold>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let row = row(query, project.id, &uuid)?;
        match &asked.model {
            Some(model) => {
                let model = threshold_model::find_of_threshold(query, row.id, model)?
                    .ok_or(Denied::NotFound("model"))?;
                Show::new(query, &project).threshold_with(&row, Some(&model))
            }
            None => Show::new(query, &project).threshold(&row),
        }
    };
    Ok(Json(app.store.reader.read(read).await?))
}

pub(super) async fn update_threshold(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, uuid)): Path<(String, String)>,
    Body(update): Body<ThresholdUpdate>,
) -> ApiResult<Json<Threshold>> {
    let seed = seed(&app);
    let change = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Edit)?;
        let id = row(tx, project.id, &uuid)?.id;
        let ids = bench::Ids::new(seed);
        let row = bench::update_threshold(tx, id, update.model.as_ref(), &ids)?;
        Show::new(tx, &project).threshold(&row)
    };
    Ok(Json(app.store.ledger.submit(change).await?))
}

pub(super) async fn delete_threshold(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, uuid)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let delete = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Delete)?;
        let id = row(tx, project.id, &uuid)?.id;
        Ok::<_, Denied>(threshold::delete(tx, id)?)
    };
    app.store.ledger.submit(delete).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn row<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    uuid: &str,
) -> Result<threshold::Threshold, Denied> {
    threshold::find_in_project(query, project, uuid)?.ok_or(Denied::NotFound("threshold"))
}
