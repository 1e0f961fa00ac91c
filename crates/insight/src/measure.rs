//! What the measures of adapters are called, in which unit they count, and which way is better.

use std::borrow::Cow;

use crate::threshold::Direction;

pub(crate) const LATENCY: &str = "latency";
pub(crate) const THROUGHPUT: &str = "throughput";
pub(crate) const BANDWIDTH: &str = "bandwidth";
pub(crate) const ITEMS_PER_SECOND: &str = "items-per-second";
pub(crate) const CPU_TIME: &str = "cpu-time";
pub(crate) const USER_TIME: &str = "user-time";
pub(crate) const SYSTEM_TIME: &str = "system-time";
pub(crate) const MIN_LATENCY: &str = "min-latency";
pub(crate) const MAX_LATENCY: &str = "max-latency";
pub(crate) const PEAK_MEMORY: &str = "peak-memory";
pub(crate) const ALLOCATED: &str = "allocated";
pub(crate) const ALLOCATIONS: &str = "allocations";

/// What is known about a measure by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasureInfo {
    pub units: Cow<'static, str>,
    /// Nothing where nobody can tell.
    pub direction: Option<Direction>,
}

/// The unit and the direction of a measure. Names that adapters make are known; a name may carry its unit in parentheses at its
/// end, or be one itself (`compares/op`). What counts per second is better when it is larger, other units when they are smaller.
pub fn describe(measure: &str) -> MeasureInfo {
    let of_tool = |tool: &&str| measure.strip_prefix(tool);
    let counter = TOOLS.iter().find_map(of_tool).unwrap_or(measure);
    if let Some((_, units, direction)) = KNOWN.iter().find(|(name, ..)| *name == counter) {
        return info(*units, Some(*direction));
    }
    if measure.ends_with("-latency") {
        return info(NANOSECONDS, Some(Lower));
    }
    let in_parentheses = measure
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(" ("))
        .map(|(_, unit)| unit);
    match in_parentheses {
        Some(unit) => info(unit.to_owned(), Some(direction_of(unit))),
        None if measure.contains('/') => info(measure.to_owned(), Some(direction_of(measure))),
        None => info("Measure (units)", None),
    }
}

fn info(units: impl Into<Cow<'static, str>>, direction: Option<Direction>) -> MeasureInfo {
    MeasureInfo {
        units: units.into(),
        direction,
    }
}

fn direction_of(unit: &str) -> Direction {
    let per_second = ["/s", "/sec", "/second", "/ms", "/us", "/ns", "/min"];
    if per_second.iter().any(|end| unit.ends_with(end)) {
        Higher
    } else {
        Lower
    }
}

const NANOSECONDS: &str = "nanoseconds (ns)";
const BYTES: &str = "bytes";
const PERCENT: &str = "percent (%)";

use Direction::{LargerIsBetter as Higher, SmallerIsBetter as Lower};

/// Tools of Valgrind that count what another one counts too put their names before the measure.
const TOOLS: [&str; 6] = [
    "callgrind-",
    "cachegrind-",
    "dhat-",
    "memcheck-",
    "helgrind-",
    "drd-",
];

const KNOWN: &[(&str, &str, Direction)] = &[
    (LATENCY, NANOSECONDS, Lower),
    (THROUGHPUT, "operations / second", Higher),
    (BANDWIDTH, "bytes / second", Higher),
    (ITEMS_PER_SECOND, "items / second", Higher),
    (CPU_TIME, NANOSECONDS, Lower),
    (USER_TIME, NANOSECONDS, Lower),
    (SYSTEM_TIME, NANOSECONDS, Lower),
    (PEAK_MEMORY, BYTES, Lower),
    (ALLOCATED, BYTES, Lower),
    (ALLOCATIONS, "allocations", Lower),
    ("max-allocated", BYTES, Lower),
    ("max-allocations", "allocations", Lower),
    ("deallocated", BYTES, Lower),
    ("deallocations", "deallocations", Lower),
    ("grown", BYTES, Lower),
    ("grows", "reallocations", Lower),
    ("shrunk", BYTES, Lower),
    ("shrinks", "reallocations", Lower),
    ("build-time", "seconds", Lower),
    ("file-size", BYTES, Lower),
    ("memory", BYTES, Lower),
    ("requests", "requests", Higher),
    ("errors", "errors", Lower),
    ("gen0-collects", "collections", Lower),
    ("gen1-collects", "collections", Lower),
    ("gen2-collects", "collections", Lower),
    ("total-operations", "operations", Higher),
    ("compute-jitter", PERCENT, Lower),
    ("cache-jitter", PERCENT, Lower),
    ("io-jitter", PERCENT, Lower),
    ("cpu-steal", PERCENT, Lower),
    ("noise-score", "decibels (dB)", Lower),
    ("instructions", "instructions", Lower),
    ("estimated-cycles", "estimated cycles", Lower),
    ("l1-accesses", "accesses", Lower),
    ("l2-accesses", "accesses", Lower),
    ("ram-accesses", "accesses", Lower),
    ("total-read-write", "reads and writes", Lower),
    // A hit in the nearest cache is the good case; the farther away, the worse.
    ("l1-hits", "hits", Lower),
    ("l2-hits", "hits", Lower),
    ("ll-hits", "hits", Lower),
    ("ram-hits", "hits", Lower),
    ("total-bytes", BYTES, Lower),
    ("total-blocks", "blocks", Lower),
    ("at-t-gmax-bytes", BYTES, Lower),
    ("at-t-gmax-blocks", "blocks", Lower),
    ("at-t-end-bytes", BYTES, Lower),
    ("at-t-end-blocks", "blocks", Lower),
    ("reads-bytes", BYTES, Lower),
    ("writes-bytes", BYTES, Lower),
    ("total-units", "units", Lower),
    ("total-events", "events", Lower),
    ("total-lifetimes", "instructions", Lower),
    ("maximum-bytes", BYTES, Lower),
    ("maximum-blocks", "blocks", Lower),
    ("dr", "reads", Lower),
    ("dw", "writes", Lower),
    ("i1mr", "misses", Lower),
    ("d1mr", "misses", Lower),
    ("d1mw", "misses", Lower),
    ("ilmr", "misses", Lower),
    ("dlmr", "misses", Lower),
    ("dlmw", "misses", Lower),
    ("i1-miss-rate", PERCENT, Lower),
    ("d1-miss-rate", PERCENT, Lower),
    ("lli-miss-rate", PERCENT, Lower),
    ("lld-miss-rate", PERCENT, Lower),
    ("ll-miss-rate", PERCENT, Lower),
    ("l1-hit-rate", PERCENT, Higher),
    ("ll-hit-rate", PERCENT, Lower),
    ("ram-hit-rate", PERCENT, Lower),
    ("bc", "branches", Lower),
    ("bcm", "mispredictions", Lower),
    ("bi", "branches", Lower),
    ("bim", "mispredictions", Lower),
    ("ge", "bus events", Lower),
    ("sys-count", "system calls", Lower),
    ("sys-time", NANOSECONDS, Lower),
    ("sys-cpu-time", NANOSECONDS, Lower),
    ("contexts", "error contexts", Lower),
    ("suppressed-errors", "errors", Lower),
    ("suppressed-contexts", "error contexts", Lower),
    ("error-responses", "responses", Lower),
    ("socket-errors", "errors", Lower),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_measures_have_the_units_of_stock_servers() {
        assert_eq!(describe("latency"), info("nanoseconds (ns)", Some(Lower)));
        assert_eq!(
            describe("throughput"),
            info("operations / second", Some(Higher))
        );
        assert_eq!(describe("file-size"), info("bytes", Some(Lower)));
    }

    #[test]
    fn quantiles_of_latency_are_latencies() {
        assert_eq!(describe("p99.9-latency"), describe("latency"));
    }

    #[test]
    fn a_counter_of_a_second_tool_counts_what_the_first_does() {
        assert_eq!(
            describe("cachegrind-instructions"),
            describe("instructions")
        );
    }

    #[test]
    fn a_name_may_carry_its_unit() {
        assert_eq!(
            describe("gc.alloc.rate (MB/sec)"),
            info("MB/sec", Some(Higher))
        );
        assert_eq!(describe("gc.count (counts)"), info("counts", Some(Lower)));
        assert_eq!(describe("compares/op"), info("compares/op", Some(Lower)));
        assert_eq!(describe("widgets/s"), info("widgets/s", Some(Higher)));
    }

    #[test]
    fn an_unknown_measure_has_the_unit_text_of_stock_servers_and_no_direction() {
        assert_eq!(describe("widgets"), info("Measure (units)", None));
    }

    #[test]
    fn every_name_is_known_once() {
        for (index, (name, ..)) in KNOWN.iter().enumerate() {
            assert!(
                KNOWN[..index].iter().all(|(other, ..)| other != name),
                "{name}"
            );
        }
    }
}
