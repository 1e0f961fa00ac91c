//! What an organization used.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use kiln_control::access::Caller;
use kiln_control::billing;
use kiln_model::Millis;
use kiln_model::v0::{DateTime, PlanLevel, Usage, UsageKind};
use kiln_store::Query;
use serde::Deserialize;

use super::organizations::plan;
use crate::app::Shared;
use crate::error::ApiResult;
use crate::identity::User;

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct UsageQuery {
    /// Milliseconds; the beginning of this month when it is not given.
    start_time: Option<i64>,
    /// Milliseconds; now when it is not given.
    end_time: Option<i64>,
}

pub(super) async fn get_usage(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
    UrlQuery(asked): UrlQuery<UsageQuery>,
) -> ApiResult<Json<Usage>> {
    let caller = Caller::Account(account);
    let now = app.wall();
    let start = asked
        .start_time
        .map_or_else(|| DateTime(now).start_of_month().0, Millis);
    let end = asked.end_time.map_or(now, Millis);
    let read =
        move |query: &mut dyn Query| billing::usage(query, &caller, &reference, (start, end));
    let used = app.store.reader.read(read).await?;
    let organization = used.organization;
    Ok(Json(Usage {
        organization: organization.uuid,
        kind: match organization.plan {
            PlanLevel::Free => UsageKind::SelfHostedFree,
            PlanLevel::Pro | PlanLevel::Team | PlanLevel::Enterprise => {
                UsageKind::SelfHostedLicensed
            }
        },
        plan: plan(&organization),
        start_time: DateTime(start),
        end_time: DateTime(end),
        runner_minutes: used.minutes,
        metrics: used.measured.metrics,
        active_series: used.measured.series,
    }))
}
