//! Alerts of a project.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use kiln_control::{Denied, access};
use kiln_model::v0::{Alert, AlertPatch, Permission};
use kiln_store::sql::alert::{self, Filter};
use kiln_store::{Query, Tx};
use serde::Deserialize;

use super::listing::Listed;
use super::paging::{BY_TIME, Paging, listed};
use super::show::Show;
use crate::app::Shared;
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::Caller;

#[derive(Debug, Deserialize)]
pub(super) struct ListQuery {
    status: Option<String>,
    /// Those of what is archived.
    #[serde(default)]
    archived: bool,
}

const STATUSES: [&str; 3] = ["active", "dismissed", "silenced"];

pub(super) async fn list_alerts(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    UrlQuery(asked): UrlQuery<ListQuery>,
    UrlQuery(paging): UrlQuery<Paging>,
) -> ApiResult<Listed<Alert>> {
    check_status(asked.status.as_deref())?;
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let filter = Filter {
            status: asked.status.as_deref(),
            archived: asked.archived,
        };
        let rows = alert::list(query, project.id, filter, paging.page(BY_TIME, true)?)?;
        let total = alert::count(query, project.id, filter)?;
        let mut show = Show::new(query, &project);
        let rows = rows.iter().map(|row| show.alert(row));
        let rows = rows.collect::<Result<Vec<_>, Denied>>()?;
        Ok::<_, Denied>(listed(rows, total))
    };
    Ok(app.store.reader.read(read).await?)
}

pub(super) async fn get_alert(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, uuid)): Path<(String, String)>,
) -> ApiResult<Json<Alert>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let row = row(query, project.id, &uuid)?;
        Show::new(query, &project).alert(&row)
    };
    Ok(Json(app.store.reader.read(read).await?))
}

/// Dismisses an alert, silences it, or makes it active again.
pub(super) async fn update_alert(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, uuid)): Path<(String, String)>,
    Body(patch): Body<AlertPatch>,
) -> ApiResult<Json<Alert>> {
    check_status(patch.status.as_deref())?;
    let update = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Edit)?;
        let found = row(tx, project.id, &uuid)?;
        if let Some(status) = &patch.status {
            alert::set_status(tx, found.id, status)?;
        }
        let found = row(tx, project.id, &uuid)?;
        Show::new(tx, &project).alert(&found)
    };
    Ok(Json(app.store.ledger.submit(update).await?))
}

fn check_status(status: Option<&str>) -> Result<(), Denied> {
    match status {
        Some(status) if !STATUSES.contains(&status) => Err(Denied::Invalid(
            "`status` is active, dismissed or silenced".to_owned(),
        )),
        _ => Ok(()),
    }
}

fn row<Q: Query + ?Sized>(query: &mut Q, project: i64, uuid: &str) -> Result<alert::Alert, Denied> {
    alert::find_in_project(query, project, uuid)?.ok_or(Denied::NotFound("alert"))
}
