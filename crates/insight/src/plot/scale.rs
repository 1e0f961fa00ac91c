//! Which unit the numbers of an axis are written in.

use super::chart::Range;

/// How much one of the unit is, and how it is written behind a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) size: f64,
    pub(super) suffix: &'static str,
}

const NANOSECONDS: &[(f64, &str)] = &[(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")];
const SECONDS: &[(f64, &str)] = &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")];
const BYTES: &[(f64, &str)] = &[
    (1_073_741_824.0, " GiB"),
    (1_048_576.0, " MiB"),
    (1_024.0, " KiB"),
    (1.0, " B"),
];
/// What is only counted has its unit in the title. Up to 10,000 it is written out.
const COUNTS: &[(f64, &str)] = &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
const WRITTEN_OUT: f64 = 1e4;

impl Scale {
    /// The unit that fits the number that is the furthest from zero.
    pub(super) fn of(units: &str, range: Range) -> Self {
        let largest = range.low.abs().max(range.high.abs());
        let (scales, least) = match units {
            "nanoseconds (ns)" => (NANOSECONDS, 0.0),
            "seconds" => (SECONDS, 0.0),
            "bytes" => (BYTES, 0.0),
            _ => (COUNTS, WRITTEN_OUT),
        };
        let fits = |(size, _): &&(f64, &str)| largest >= size.max(least);
        let smallest = if least > 0.0 { None } else { scales.last() };
        scales
            .iter()
            .find(fits)
            .or(smallest)
            .map_or(Self::ONE, |(size, suffix)| Self {
                size: *size,
                suffix,
            })
    }

    const ONE: Self = Self {
        size: 1.0,
        suffix: "",
    };
}
