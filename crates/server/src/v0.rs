//! The bench door.

mod alerts;
mod backup;
mod compare;
mod csv;
mod dimensions;
mod directory;
mod elsewhere;
mod events;
mod images;
mod insight;
mod jobs;
mod kernel;
mod listing;
mod members;
mod organizations;
mod output;
mod paging;
mod perf;
mod perf_img;
mod plots;
mod project_keys;
mod projects;
mod registry;
mod releases;
mod reports;
mod run;
mod runners;
mod server;
mod show;
mod specs;
mod thresholds;
mod usage;
mod user_keys;
mod users;

use axum::Router;
use axum::routing::{get, post};

use crate::app::Shared;
use crate::channel;

pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .merge(directory::routes())
        .route(
            "/v0/server/releases/{release}/{name}",
            get(releases::get_release),
        )
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
        .route("/v0/server/registry", get(registry::get_registry_stats))
        .route("/v0/server/registry/gc", post(registry::collect_registry))
        .route(
            "/v0/server/registry/verify",
            post(registry::verify_registry),
        )
        .route(
            "/v0/server/registry/quotas/{project}",
            get(registry::get_quota).put(registry::set_quota),
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
        .route(
            "/v0/runners/{runner}/jobs/{job}/output/{digest}",
            get(channel::get_upload_progress)
                .put(channel::put_upload_chunk)
                .post(channel::finish_upload),
        )
        .route("/v0/run", post(run::submit_run))
        .route("/v0/projects/{project}/images", get(images::list_images))
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
            "/v0/projects/{project}/jobs/{job}/output/{iteration}/{stream}",
            get(output::get_output),
        )
        .route(
            "/v0/projects/{project}/jobs/{job}/retry",
            post(jobs::retry_job),
        )
        .route(
            "/v0/projects/{project}/jobs/{job}/why",
            get(jobs::explain_job),
        )
        .merge(insight::routes())
}
