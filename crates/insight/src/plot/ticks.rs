//! Round numbers along an axis.

use super::chart::Range;

/// Between three and about twice `wanted` round numbers within the range.
pub(super) fn ticks(range: Range, wanted: f64) -> Vec<f64> {
    let span = range.high - range.low;
    if !(span.is_finite() && span > 0.0) {
        return vec![range.low];
    }
    let rough = span / wanted;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let mut tick = (range.low / step).ceil() * step;
    let mut ticks = Vec::new();
    while tick <= range.high && ticks.len() < 50 {
        ticks.push(tick);
        tick += step;
    }
    ticks
}

/// A number as short as it can be read: `1.5k`, `20M`, `0.003`.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    let (scaled, suffix) = match size {
        _ if size >= 1e12 => (value / 1e12, "T"),
        _ if size >= 1e9 => (value / 1e9, "G"),
        _ if size >= 1e6 => (value / 1e6, "M"),
        _ if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    if size != 0.0 && size < 1e-3 {
        return format!("{value:.1e}");
    }
    let text = format!("{scaled:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let found = ticks(
            Range {
                low: 0.0,
                high: 97.0,
            },
            5.0,
        );
        assert_eq!(found, [0.0, 20.0, 40.0, 60.0, 80.0]);
        let found = ticks(
            Range {
                low: 5.0,
                high: 5.0,
            },
            5.0,
        );
        assert_eq!(found, [5.0]);
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (1234.0, "1234"),
            (15_000.0, "15k"),
            (2.5e6, "2.5M"),
            (0.0005, "5.0e-4"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
