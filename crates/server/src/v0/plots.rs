//! Plots that a project keeps.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use kiln_control::{Denied, access, bench};
use kiln_model::v0::{DateTime, NewPlot, Patched, Permission, Plot, PlotPatch};
use kiln_store::sql::plot;
use kiln_store::sql::project::Project;
use kiln_store::{Query, Tx};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::dimensions::seed;
use super::listing::Listed;
use super::paging::{BY_PLACE, Paging, listed};
use crate::app::Shared;
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::Caller;
use crate::metrics::Count;

#[derive(Debug, Deserialize)]
pub(super) struct ListQuery {
    title: Option<String>,
    search: Option<String>,
}

pub(super) async fn list_plots(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    UrlQuery(asked): UrlQuery<ListQuery>,
    UrlQuery(paging): UrlQuery<Paging>,
) -> ApiResult<Listed<Plot>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let (title, search) = (asked.title.as_deref(), asked.search.as_deref());
        let rows = plot::list(
            query,
            project.id,
            title,
            search,
            paging.page(BY_PLACE, false)?,
        )?;
        let rows = rows.iter().map(|row| show(&project, row));
        Ok::<_, Denied>(listed(
            rows.collect::<Result<_, Denied>>()?,
            plot::count(query, project.id, title, search)?,
        ))
    };
    Ok(app.store.reader.read(read).await?)
}

pub(super) async fn create_plot(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    Body(new): Body<NewPlot>,
) -> ApiResult<(StatusCode, Json<Plot>)> {
    let seed = seed(&app);
    let create = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Create)?;
        let row = bench::create_plot(tx, project.id, &new, &bench::Ids::new(seed))?;
        show(&project, &row)
    };
    let made = app.store.ledger.submit(create).await?;
    app.metrics.count(Count::ResourceCreate);
    Ok((StatusCode::CREATED, Json(made)))
}

pub(super) async fn get_plot(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, uuid)): Path<(String, String)>,
) -> ApiResult<Json<Plot>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        show(&project, &find(query, project.id, &uuid)?)
    };
    Ok(Json(app.store.reader.read(read).await?))
}

pub(super) async fn update_plot(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, uuid)): Path<(String, String)>,
    Body(patch): Body<PlotPatch>,
) -> ApiResult<Json<Plot>> {
    let update = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Edit)?;
        let mut row = find(tx, project.id, &uuid)?;
        match &patch.title {
            Patched::Keep => {}
            Patched::Clear => row.title = None,
            Patched::Set(title) => row.title = Some(title.clone()),
        }
        if let Some(index) = patch.index {
            row.place = bench::place_plot(tx, project.id, index)?;
        }
        row.window = patch.window.unwrap_or(row.window);
        plot::update(tx, &row)?;
        show(&project, &find(tx, project.id, &uuid)?)
    };
    Ok(Json(app.store.ledger.submit(update).await?))
}

pub(super) async fn delete_plot(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, uuid)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let delete = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Delete)?;
        let id = find(tx, project.id, &uuid)?.id;
        Ok::<_, Denied>(plot::delete(tx, id)?)
    };
    app.store.ledger.submit(delete).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn find<Q: Query + ?Sized>(query: &mut Q, project: i64, uuid: &str) -> Result<plot::Plot, Denied> {
    plot::find_in_project(query, project, uuid)?.ok_or(Denied::NotFound("plot"))
}

fn show(project: &Project, row: &plot::Plot) -> Result<Plot, Denied> {
    Ok(Plot {
        uuid: row.uuid,
        project: project.uuid,
        title: row.title.clone(),
        lower_value: row.lower_value,
        upper_value: row.upper_value,
        lower_boundary: row.lower_boundary,
        upper_boundary: row.upper_boundary,
        x_axis: row.x_axis.clone(),
        y_axis: row.y_axis.clone(),
        window: row.window,
        branches: list(&row.branches)?,
        testbeds: list(&row.testbeds)?,
        benchmarks: list(&row.benchmarks)?,
        measures: list(&row.measures)?,
        created: DateTime(row.created),
        modified: DateTime(row.modified),
    })
}

fn list<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Denied> {
    serde_json::from_str(text).map_err(|error| {
        Denied::Store(kiln_store::Error::Corrupt {
            what: format!("a plot's list: {error}"),
        })
    })
}
