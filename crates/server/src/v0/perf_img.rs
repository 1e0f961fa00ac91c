//! The perf query as a picture.

use std::sync::Arc;

use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use kiln_control::bench::{Line, Point, perf_lines};
use kiln_control::{Denied, access};
use kiln_insight::plot::{self, Chart, ChartLine, ChartPoint, XAxis};
use kiln_model::v0::Permission;
use kiln_store::Query;
use serde::Deserialize;

use super::perf::UrlPerf;
use crate::app::Shared;
use crate::error::{ApiError, ApiResult};
use crate::identity::Caller;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct UrlImage {
    title: Option<String>,
    /// Ours: `png` or `svg`.
    format: Option<String>,
    /// Ours: `date_time` or `version`.
    x_axis: Option<String>,
}

pub(super) async fn get_perf_img(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    UrlQuery(url): UrlQuery<UrlPerf>,
    UrlQuery(image): UrlQuery<UrlImage>,
) -> ApiResult<Response> {
    let asked = url.query()?;
    let svg = match image.format.as_deref() {
        None | Some("png") => false,
        Some("svg") => true,
        Some(_) => return Err(ApiError::bad_request("`format` is png or svg")),
    };
    let x_axis = match image.x_axis.as_deref() {
        None | Some("date_time") => XAxis::Time,
        Some("version") => XAxis::Version,
        Some(_) => return Err(ApiError::bad_request("`x_axis` is date_time or version")),
    };
    let inside = Arc::clone(&app);
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let changes = url.change_points.then_some(&inside.changes);
        let lines = perf_lines(query, project.id, &asked, changes)?;
        let title = image.title.as_deref().unwrap_or(project.name.as_str());
        Ok::<_, Denied>(chart(title, x_axis, &lines))
    };
    let chart = app.store.reader.read(read).await?;
    Ok(if svg {
        let kind = [(header::CONTENT_TYPE, "image/svg+xml")];
        (kind, plot::svg(&chart)).into_response()
    } else {
        let kind = [(header::CONTENT_TYPE, "image/png")];
        (kind, plot::png(&chart)).into_response()
    })
}

fn chart(title: &str, x_axis: XAxis, lines: &[Line]) -> Chart {
    let mut units: Vec<&str> = lines
        .iter()
        .map(|line| line.measure.units.as_str())
        .collect();
    units.dedup();
    Chart {
        title: title.to_owned(),
        x_axis,
        units: units.join(", "),
        lines: lines.iter().map(|line| chart_line(x_axis, line)).collect(),
    }
}

fn chart_line(x_axis: XAxis, line: &Line) -> ChartLine {
    let points = line.points.iter().map(|one| point(x_axis, one)).collect();
    let changes = line.change_points.iter().flatten();
    let (points, changes) = in_order(points, changes.map(|change| change.index));
    ChartLine {
        label: format!(
            "{} / {} / {} / {}",
            line.branch.name, line.testbed.name, line.benchmark.name, line.measure.name
        ),
        points,
        changes,
    }
}

/// Points from left to right, with where the changes are then. Versions are in order already; times need not be.
fn in_order(
    points: Vec<ChartPoint>,
    changes: impl Iterator<Item = usize>,
) -> (Vec<ChartPoint>, Vec<usize>) {
    let mut numbered: Vec<(usize, ChartPoint)> = points.into_iter().enumerate().collect();
    numbered.sort_by(|(_, a), (_, b)| a.x.total_cmp(&b.x));
    let place = |change| numbered.iter().position(|(index, _)| *index == change);
    let mut changes: Vec<usize> = changes.filter_map(place).collect();
    changes.sort_unstable();
    let points = numbered.into_iter().map(|(_, point)| point).collect();
    (points, changes)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a time in milliseconds is far below 2^53"
)]
fn point(x_axis: XAxis, point: &Point) -> ChartPoint {
    let judged = point.metric.judged;
    ChartPoint {
        x: match x_axis {
            XAxis::Time => point.stop.start_time.0 as f64,
            XAxis::Version => f64::from(point.stop.version),
        },
        y: point.metric.value,
        lower_limit: judged.and_then(|judged| judged.lower_limit),
        upper_limit: judged.and_then(|judged| judged.upper_limit),
        alert: point.alert.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_stays_at_its_point_when_times_are_out_of_order() {
        let at = |x| ChartPoint {
            x,
            y: x,
            lower_limit: None,
            upper_limit: None,
            alert: false,
        };
        let points = [3.0, 1.0, 4.0, 2.0].map(at).to_vec();
        let (points, changes) = in_order(points, [3].into_iter());
        let xs: Vec<f64> = points.iter().map(|point| point.x).collect();
        assert_eq!((xs, changes), (vec![1.0, 2.0, 3.0, 4.0], vec![1]));
    }
}
