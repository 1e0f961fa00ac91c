//! Lines of a perf query as charts.

use kiln_insight::plot::{Chart, ChartLine, ChartPoint, XAxis};
use kiln_model::v0::{PerfLine, PerfMetric};

/// What runs from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Across {
    Time,
    Version,
    /// One metric after another, whenever they were measured.
    Order,
}

/// One line by itself.
pub(super) fn chart(line: &PerfLine, across: Across) -> Chart {
    let mut points: Vec<(usize, ChartPoint)> = line
        .metrics
        .iter()
        .enumerate()
        .map(|(place, metric)| (place, point(place, metric, across)))
        .collect();
    // Versions are in order already; times need not be.
    points.sort_by(|(_, a), (_, b)| a.x.total_cmp(&b.x));
    let changes = line.change_points.iter().flatten();
    let mut changes: Vec<usize> = changes
        .filter_map(|change| points.iter().position(|(place, _)| *place == change.index))
        .collect();
    changes.sort_unstable();
    Chart {
        title: title(line),
        x_axis: match across {
            Across::Time => XAxis::Time,
            Across::Version | Across::Order => XAxis::Version,
        },
        units: line.measure.units.clone(),
        lines: vec![ChartLine {
            label: title(line),
            points: points.into_iter().map(|(_, point)| point).collect(),
            changes,
        }],
    }
}

pub(super) fn title(line: &PerfLine) -> String {
    format!(
        "{} / {} / {} / {}",
        line.branch.name, line.testbed.name, line.benchmark.name, line.measure.name
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times in milliseconds and counts of metrics are far below 2^53"
)]
fn point(place: usize, metric: &PerfMetric, across: Across) -> ChartPoint {
    ChartPoint {
        x: match across {
            Across::Time => metric.start_time.0.0 as f64,
            Across::Version => f64::from(metric.version.number),
            Across::Order => (place + 1) as f64,
        },
        y: metric.metric.value,
        lower_limit: metric.boundary.and_then(|boundary| boundary.lower_limit),
        upper_limit: metric.boundary.and_then(|boundary| boundary.upper_limit),
        alert: metric.alert.is_some(),
    }
}
