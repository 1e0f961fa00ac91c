//! What the server says about itself.

use axum::Json;
use axum::extract::{Query as UrlQuery, State};
use axum::http::HeaderName;
use axum::http::header::CONTENT_TYPE;
use kiln_model::v0::{
    AuditEntry, ConsoleConfig, DateTime, JobCounts, ServerConfig, ServerStats, ServerVersion,
};
use kiln_store::Query;
use kiln_store::sql::{audit, stats};

use super::listing::{ListQuery, Listed};
use crate::app::Shared;
use crate::channel::MAX_MESSAGE;
use crate::error::ApiResult;
use crate::identity::Admin;
use crate::metrics::prometheus;
use crate::view;

/// Ready: it answers only once the store does.
pub(super) async fn healthz(State(app): State<Shared>) -> ApiResult<&'static str> {
    let answered = app
        .store
        .reader
        .read(|query: &mut dyn Query| query.query("SELECT 1", &[]));
    answered.await?;
    Ok("ready\n")
}

/// Sums and counts for Prometheus; nothing in them names anybody.
pub(super) async fn get_metrics(
    State(app): State<Shared>,
) -> ([(HeaderName, &'static str); 1], String) {
    let text = prometheus::render(&app.metrics.read(app.channels.count()));
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

pub(super) async fn version() -> Json<ServerVersion> {
    Json(ServerVersion {
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

pub(super) async fn get_console_config(State(app): State<Shared>) -> Json<ConsoleConfig> {
    Json(console(&app.public_url))
}

pub(super) async fn get_config(
    State(app): State<Shared>,
    _: Admin,
) -> ApiResult<Json<ServerConfig>> {
    let read = |query: &mut dyn Query| Ok::<_, kiln_store::Error>(query.engine());
    let engine = app.store.reader.read(read).await?;
    Ok(Json(ServerConfig {
        console: console(&app.public_url),
        database: match engine {
            kiln_store::Engine::Sqlite => "sqlite",
            kiln_store::Engine::Postgres => "postgres",
        }
        .to_owned(),
        request_body_max_bytes: u64::try_from(MAX_MESSAGE).unwrap_or(u64::MAX),
        heartbeat_timeout: app.bench.heartbeat_timeout.as_secs(),
        job_timeout_grace_period: app.bench.grace.as_secs(),
        rate_limits: app.limits.rates().to_string(),
    }))
}

pub(super) async fn get_stats(State(app): State<Shared>, _: Admin) -> ApiResult<Json<ServerStats>> {
    let read = |query: &mut dyn Query| stats::count(query);
    let found = app.store.reader.read(read).await?;
    let live = found.jobs_pending + found.jobs_claimed + found.jobs_running;
    Ok(Json(ServerStats {
        timestamp: DateTime(app.wall()),
        users: found.accounts,
        organizations: found.organizations,
        projects: found.projects,
        reports: found.reports,
        runners: found.runners,
        specs: found.specs,
        jobs: JobCounts {
            pending: found.jobs_pending,
            claimed: found.jobs_claimed,
            running: found.jobs_running,
            ended: found.jobs - live,
        },
    }))
}

/// The newest first. `search` takes a whole subject, such as `runner:01a1…`.
pub(super) async fn list_audit(
    State(app): State<Shared>,
    _: Admin,
    UrlQuery(query): UrlQuery<ListQuery>,
) -> ApiResult<Listed<AuditEntry>> {
    let (limit, subject) = (query.limit(), query.search().map(str::to_owned));
    let offset = i64::try_from(query.offset()).unwrap_or(i64::MAX);
    let read = move |query: &mut dyn Query| audit::list(query, subject.as_deref(), limit, offset);
    let (entries, total) = app.store.reader.read(read).await?;
    Ok(Listed {
        items: entries.iter().map(view::audit_entry).collect(),
        total,
    })
}

fn console(public_url: &str) -> ConsoleConfig {
    ConsoleConfig {
        url: format!("{}/", public_url.trim_end_matches('/')),
    }
}
