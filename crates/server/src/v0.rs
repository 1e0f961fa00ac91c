//! The bench door.

mod events;
mod jobs;
mod kernel;
mod reports;
mod run;
mod runners;
mod server;
mod specs;

use axum::Router;
use axum::routing::{get, post};

use crate::app::Shared;
use crate::channel;

pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/healthz", get(server::healthz))
        .route("/metrics", get(server::get_metrics))
        .route("/v0/server/version", get(server::version))
        .route("/v0/server/keys", post(kernel::create_admin_key))
        .route("/v0/server/kernel", get(kernel::get_kernel_stats))
        .route(
            "/v0/server/kernel/dead-letters",
            get(kernel::list_dead_letters).delete(kernel::drain_dead_letters),
        )
        .route(
            "/v0/server/kernel/dead-letters/{worker}/{seq}",
            get(kernel::get_dead_letter),
        )
        .route(
            "/v0/server/kernel/dead-letters/{worker}/{seq}/replay",
            post(kernel::replay_dead_letter),
        )
        .route(
            "/v0/runners",
            get(runners::list_runners).post(runners::create_runner),
        )
        .route("/v0/runners/{runner}", get(runners::get_runner))
        .route("/v0/runners/{runner}/key", post(runners::rotate_key))
        .route(
            "/v0/runners/{runner}/specs",
            get(runners::list_specs).post(runners::add_spec),
        )
        .route("/v0/runners/{runner}/channel", get(channel::open_channel))
        .route("/v0/runners/{runner}/jobs", post(channel::claim_job))
        .route(
            "/v0/runners/{runner}/jobs/{job}",
            get(channel::open_job_channel),
        )
        .route(
            "/v0/runners/{runner}/jobs/{job}/token",
            post(channel::renew_pull_token),
        )
        .route("/v0/specs", get(specs::list_specs).post(specs::create_spec))
        .route("/v0/specs/{spec}", get(specs::get_spec))
        .route("/v0/run", post(run::submit_run))
        .route("/v0/projects/{project}/jobs", get(jobs::list_jobs))
        .route("/v0/projects/{project}/jobs/{job}", get(jobs::get_job))
        .route(
            "/v0/projects/{project}/jobs/{job}/cancel",
            post(jobs::cancel_job),
        )
        .route(
            "/v0/projects/{project}/jobs/{job}/events",
            get(events::list_events),
        )
        .route(
            "/v0/projects/{project}/jobs/{job}/retry",
            post(jobs::retry_job),
        )
        .route(
            "/v0/projects/{project}/jobs/{job}/why",
            get(jobs::explain_job),
        )
        .route(
            "/v0/projects/{project}/reports/{report}",
            get(reports::get_report),
        )
}
