//! What is to be seen, without any pixel.

use kiln_model::Millis;

/// What the horizontal axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XAxis {
    /// Milliseconds since 1970.
    Time,
    /// Versions of a branch.
    Version,
}

#[derive(Clone, Debug)]
pub struct Chart {
    pub title: String,
    pub x_axis: XAxis,
    /// What the vertical axis counts.
    pub units: String,
    pub lines: Vec<ChartLine>,
}

#[derive(Clone, Debug)]
pub struct ChartLine {
    pub label: String,
    /// From left to right.
    pub points: Vec<ChartPoint>,
    /// The first points after a change.
    pub changes: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
pub struct ChartPoint {
    pub x: f64,
    pub y: f64,
    pub lower_limit: Option<f64>,
    pub upper_limit: Option<f64>,
    pub alert: bool,
}

impl ChartPoint {
    pub fn plain(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            lower_limit: None,
            upper_limit: None,
            alert: false,
        }
    }
}

/// From the least to the greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What varies by less than this share of its height is drawn level: so little is noise, and is not to look like news.
const LEVEL: f64 = 0.02;
const MARGIN: f64 = 0.05;
/// Charts over less time than this many milliseconds tell hours, others days.
const HOURS: f64 = 2.0 * 86_400_000.0;

impl Chart {
    pub(super) fn x_range(&self) -> Option<Range> {
        Range::of(self.points().map(|point| point.x))
    }

    /// Limits count, so that they can be seen.
    pub(super) fn y_range(&self) -> Option<Range> {
        let values = self.points().flat_map(|point| {
            [Some(point.y), point.lower_limit, point.upper_limit]
                .into_iter()
                .flatten()
        });
        let range = Range::of(values)?;
        Some(range.at_least(LEVEL).widened(MARGIN))
    }

    pub(super) fn x_label(&self, x: f64) -> String {
        match self.x_axis {
            XAxis::Version => format!("{x:.0}"),
            XAxis::Time => {
                let millis = Millis(whole(x));
                let text = kiln_model::v0::DateTime(millis).to_string();
                let is_short = self.x_range().is_some_and(|x| x.high - x.low < HOURS);
                let shown = if is_short { 5..16 } else { 0..10 };
                text.get(shown).unwrap_or(&text).replace('T', " ")
            }
        }
    }

    fn points(&self) -> impl Iterator<Item = &ChartPoint> {
        self.lines.iter().flat_map(|line| &line.points)
    }
}

impl Range {
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        values
            .filter(|value| value.is_finite())
            .map(|value| Self {
                low: value,
                high: value,
            })
            .reduce(|a, b| Self {
                low: a.low.min(b.low),
                high: a.high.max(b.high),
            })
    }

    /// No narrower than a share of how far it is from zero.
    fn at_least(self, share: f64) -> Self {
        let wanted = self.low.abs().max(self.high.abs()) * share;
        let missing = (wanted - (self.high - self.low)).max(0.0) / 2.0;
        Self {
            low: self.low - missing,
            high: self.high + missing,
        }
    }

    /// With a margin on both sides; a single value gets some room around it.
    pub(super) fn widened(self, share: f64) -> Self {
        let span = self.high - self.low;
        let margin = if span > 0.0 {
            span * share
        } else {
            self.low.abs().max(1.0) * share
        };
        Self {
            low: self.low - margin,
            high: self.high + margin,
        }
    }

    /// Where a value lies, from 0 to 1; in the middle when there is only one.
    pub(super) fn place(self, value: f64) -> f64 {
        let span = self.high - self.low;
        if span > 0.0 {
            (value - self.low) / span
        } else {
            0.5
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a time in milliseconds; the cast saturates"
)]
fn whole(x: f64) -> i64 {
    x.round() as i64
}
