//! Round numbers along an axis, and how they are written.

use super::chart::Range;
use super::scale::Scale;
use crate::statistics::number::float;

/// A round number and its label.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// Round numbers of a measure in these units: round where they are read, in the unit that they are written with.
pub(super) fn measured(range: Range, units: &str, wanted: f64) -> Vec<Tick> {
    let scale = Scale::of(units, range);
    let scaled = Range {
        low: range.low / scale.size,
        high: range.high / scale.size,
    };
    let step = step(scaled, wanted);
    let ticks = multiples(scaled, step).into_iter();
    ticks
        .map(|value| Tick {
            at: value * scale.size,
            label: label(value, step, scale.suffix),
        })
        .collect()
}

/// About as many round numbers as are wanted, within the range.
pub(super) fn ticks(range: Range, wanted: f64) -> Vec<f64> {
    multiples(range, step(range, wanted))
}

/// The distance of round numbers, 1, 2 or 5 and zeros, that gives about as many as are wanted; nothing for a range without an
/// inside.
fn step(range: Range, wanted: f64) -> Option<f64> {
    let span = range.high - range.low;
    if !(span.is_finite() && span > 0.0) {
        return None;
    }
    let rough = span / wanted;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let apart = |step: &f64| (step / rough).ln().abs();
    steps
        .into_iter()
        .min_by(|a, b| apart(a).total_cmp(&apart(b)))
}

fn multiples(range: Range, step: Option<f64>) -> Vec<f64> {
    const MOST: usize = 50;
    let Some(step) = step else {
        return vec![range.low];
    };
    let first = (range.low / step).ceil();
    let all = (0..MOST).map(|place| (first + float(place)) * step);
    all.take_while(|tick| *tick <= range.high).collect()
}

/// As many digits as tell one tick from the next, and no more.
fn label(value: f64, step: Option<f64>, suffix: &str) -> String {
    const MOST_DIGITS: f64 = 12.0;
    let digits = match step {
        Some(step) => (-step.log10()).ceil().clamp(0.0, MOST_DIGITS),
        None => 3.0,
    };
    let digits = crate::statistics::number::floor_index(digits);
    let text = format!("{value:.digits$}");
    // A step such as 0.25 of 10 needs the digit, one of 0.5 of 1 does not need another.
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    match text {
        "0" | "-0" => "0".to_owned(),
        text => format!("{text}{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: f64, high: f64) -> Range {
        Range { low, high }
    }

    fn labels(low: f64, high: f64, units: &str) -> Vec<String> {
        let ticks = measured(range(low, high), units, 4.0).into_iter();
        ticks.map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(range(0.0, 97.0), 5.0), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(ticks(range(5.0, 5.0), 5.0), [5.0]);
    }

    #[test]
    fn times_and_sizes_are_round_in_the_unit_that_they_are_read_in() {
        assert_eq!(
            labels(900.0, 2_300.0, "nanoseconds (ns)"),
            ["1 µs", "1.5 µs", "2 µs"]
        );
        assert_eq!(
            labels(0.0, 4.2e9, "nanoseconds (ns)"),
            ["0", "1 s", "2 s", "3 s", "4 s"]
        );
        assert_eq!(
            labels(0.05, 0.21, "seconds"),
            ["50 ms", "100 ms", "150 ms", "200 ms"]
        );
        assert_eq!(
            labels(0.0, 8_500.0, "bytes"),
            ["0", "2 KiB", "4 KiB", "6 KiB", "8 KiB"]
        );
    }

    #[test]
    fn other_units_are_counted() {
        assert_eq!(labels(0.0, 35_000.0, "errors"), ["0", "10k", "20k", "30k"]);
        assert_eq!(labels(-2.0, 2.0, "errors"), ["-2", "-1", "0", "1", "2"]);
        assert_eq!(labels(1e-5, 3.1e-5, "errors").last().unwrap(), "0.00003");
    }

    #[test]
    fn neighbours_far_from_zero_are_told_apart() {
        let labels = labels(123_456.1, 123_456.9, "errors");
        assert_eq!(labels[0], "123.4562k");
        let mut distinct = labels.clone();
        distinct.dedup();
        assert_eq!(distinct, labels);
    }
}
