//! The routes of a project's numbers.

#[cfg(test)]
mod tests;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler as _;
use axum::routing::get;
use kiln_store::sql::benchmark::Benchmark;
use kiln_store::sql::branch::Branch;
use kiln_store::sql::measure::Measure;
use kiln_store::sql::testbed::Testbed;

use super::dimensions::{
    create_benchmark, create_branch, create_measure, create_testbed, delete_dimension,
    get_dimension, list_dimensions, update_dimension,
};
use super::{alerts, compare, perf, perf_img, plots, reports, thresholds};
use crate::app::Shared;

/// The longest body that carries results.
const MAX_REPORT: usize = 64 << 20;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route(
            "/v0/projects/{project}/reports",
            get(reports::list_reports)
                .post(reports::create_report.layer(DefaultBodyLimit::max(MAX_REPORT))),
        )
        .route(
            "/v0/projects/{project}/reports/{report}",
            get(reports::get_report).delete(reports::delete_report),
        )
        .route(
            "/v0/projects/{project}/thresholds",
            get(thresholds::list_thresholds).post(thresholds::create_threshold),
        )
        .route(
            "/v0/projects/{project}/thresholds/{threshold}",
            get(thresholds::get_threshold)
                .put(thresholds::update_threshold)
                .delete(thresholds::delete_threshold),
        )
        .route("/v0/projects/{project}/alerts", get(alerts::list_alerts))
        .route(
            "/v0/projects/{project}/alerts/{alert}",
            get(alerts::get_alert).patch(alerts::update_alert),
        )
        .route(
            "/v0/projects/{project}/metrics/{metric}",
            get(perf::get_metric),
        )
        .route("/v0/projects/{project}/perf", get(perf::get_perf))
        .route(
            "/v0/projects/{project}/perf/img",
            get(perf_img::get_perf_img),
        )
        .route(
            "/v0/projects/{project}/compare",
            get(compare::get_comparison),
        )
        .route(
            "/v0/projects/{project}/plots",
            get(plots::list_plots).post(plots::create_plot),
        )
        .route(
            "/v0/projects/{project}/plots/{plot}",
            get(plots::get_plot)
                .patch(plots::update_plot)
                .delete(plots::delete_plot),
        )
        .route(
            "/v0/projects/{project}/branches",
            get(list_dimensions::<Branch>).post(create_branch),
        )
        .route(
            "/v0/projects/{project}/branches/{branch}",
            get(get_dimension::<Branch>)
                .patch(update_dimension::<Branch>)
                .delete(delete_dimension::<Branch>),
        )
        .route(
            "/v0/projects/{project}/testbeds",
            get(list_dimensions::<Testbed>).post(create_testbed),
        )
        .route(
            "/v0/projects/{project}/testbeds/{testbed}",
            get(get_dimension::<Testbed>)
                .patch(update_dimension::<Testbed>)
                .delete(delete_dimension::<Testbed>),
        )
        .route(
            "/v0/projects/{project}/benchmarks",
            get(list_dimensions::<Benchmark>).post(create_benchmark),
        )
        .route(
            "/v0/projects/{project}/benchmarks/{benchmark}",
            get(get_dimension::<Benchmark>)
                .patch(update_dimension::<Benchmark>)
                .delete(delete_dimension::<Benchmark>),
        )
        .route(
            "/v0/projects/{project}/measures",
            get(list_dimensions::<Measure>).post(create_measure),
        )
        .route(
            "/v0/projects/{project}/measures/{measure}",
            get(get_dimension::<Measure>)
                .patch(update_dimension::<Measure>)
                .delete(delete_dimension::<Measure>),
        )
}
