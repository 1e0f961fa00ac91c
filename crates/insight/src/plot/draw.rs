//! A chart on a canvas: axes, lines, limits, alerts, changes and what they are called.

use super::MAX_LINES;
use super::canvas::{Anchor, BLACK, Canvas, GREY, PALETTE, RED, Spot, Stroke};
use super::chart::{Chart, ChartLine, Range};
use super::ticks::{measured, ticks};

const LEFT: f64 = 90.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 50.0;
/// The height of a line of text.
const TEXT: f64 = 18.0;
/// The most characters of a label.
const LABEL: usize = 100;

const GRID: Stroke = Stroke {
    colour: GREY,
    width: 1.0,
};
const CHANGE: Stroke = Stroke {
    colour: BLACK,
    width: 1.0,
};

pub(super) fn draw(chart: &Chart, canvas: &mut dyn Canvas) {
    let (width, _) = canvas.size();
    canvas.text((width / 2.0, 32.0), Anchor::Middle, &cut(&chart.title));
    let (Some(x), Some(y)) = (chart.x_range(), chart.y_range()) else {
        let (width, height) = canvas.size();
        canvas.text((width / 2.0, height / 2.0), Anchor::Middle, "no data");
        return;
    };
    let lines = &chart.lines[..chart.lines.len().min(MAX_LINES)];
    let frame = Frame::new(canvas, x, y, lines.len());
    axes(chart, &frame, canvas);
    for (place, line) in lines.iter().enumerate() {
        let colour = PALETTE[place % PALETTE.len()];
        curve(line, &frame, canvas, Stroke { colour, width: 2.0 });
        legend(
            &line.label,
            place,
            &frame,
            canvas,
            Stroke { colour, width: 4.0 },
        );
    }
}

/// The part of the canvas that the lines are drawn in.
struct Frame {
    x: Range,
    y: Range,
    width: f64,
    height: f64,
}

impl Frame {
    fn new(canvas: &dyn Canvas, x: Range, y: Range, lines: usize) -> Self {
        let (width, height) = canvas.size();
        let legend = TEXT * crate::statistics::number::float(lines);
        Self {
            x,
            y,
            width: width - LEFT - RIGHT,
            height: height - TOP - BOTTOM - legend,
        }
    }

    fn spot(&self, x: f64, y: f64) -> Spot {
        (
            LEFT + self.width * self.x.place(x),
            TOP + self.height * (1.0 - self.y.place(y)),
        )
    }

    fn bottom(&self) -> f64 {
        TOP + self.height
    }
}

fn axes(chart: &Chart, frame: &Frame, canvas: &mut dyn Canvas) {
    for tick in measured(frame.y, &chart.units, 8.0) {
        let (_, y) = frame.spot(frame.x.low, tick.at);
        canvas.line((LEFT, y), (LEFT + frame.width, y), GRID);
        canvas.text((LEFT - 8.0, y + 4.0), Anchor::End, &tick.label);
    }
    for tick in ticks(frame.x, 6.0) {
        let (x, _) = frame.spot(tick, frame.y.low);
        canvas.line((x, frame.bottom()), (x, frame.bottom() + 5.0), CHANGE);
        canvas.text(
            (x, frame.bottom() + TEXT),
            Anchor::Middle,
            &chart.x_label(tick),
        );
    }
    canvas.line((LEFT, TOP), (LEFT, frame.bottom()), CHANGE);
    canvas.line(
        (LEFT, frame.bottom()),
        (LEFT + frame.width, frame.bottom()),
        CHANGE,
    );
    canvas.text((LEFT - 8.0, TOP - 10.0), Anchor::Start, &cut(&chart.units));
}

fn curve(line: &ChartLine, frame: &Frame, canvas: &mut dyn Canvas, stroke: Stroke) {
    for change in &line.changes {
        if let Some(point) = line.points.get(*change) {
            let (x, _) = frame.spot(point.x, point.y);
            canvas.line((x, TOP), (x, frame.bottom()), CHANGE);
        }
    }
    let thin = Stroke {
        width: 1.0,
        ..stroke
    };
    for two in line.points.windows(2) {
        canvas.line(
            frame.spot(two[0].x, two[0].y),
            frame.spot(two[1].x, two[1].y),
            stroke,
        );
        let limits = [
            two[0].lower_limit.zip(two[1].lower_limit),
            two[0].upper_limit.zip(two[1].upper_limit),
        ];
        for (from, to) in limits.into_iter().flatten() {
            canvas.line(frame.spot(two[0].x, from), frame.spot(two[1].x, to), thin);
        }
    }
    for point in &line.points {
        let spot = frame.spot(point.x, point.y);
        if point.alert {
            canvas.dot(spot, 6.0, RED);
        } else {
            canvas.dot(spot, 2.5, stroke.colour);
        }
    }
}

fn legend(label: &str, place: usize, frame: &Frame, canvas: &mut dyn Canvas, stroke: Stroke) {
    let y = frame.bottom() + 2.0 * TEXT + TEXT * crate::statistics::number::float(place);
    canvas.line((LEFT, y - 4.0), (LEFT + 30.0, y - 4.0), stroke);
    canvas.text((LEFT + 40.0, y), Anchor::Start, &cut(label));
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LABEL {
        return text.to_owned();
    }
    let start: String = text.chars().take(LABEL - 1).collect();
    start + "…"
}
