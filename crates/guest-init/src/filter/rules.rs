//! What each system call gets, made of the tables.

use super::table;

/// The answer to a call. Arguments are compared by their low half, which is all that these calls look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    /// As if the kernel did not have it, so that programs written for newer kernels fall back.
    Unknown,
    Refuse,
    /// Ends the process.
    Kill,
    /// Allowed with one of these values.
    OneOf {
        argument: u32,
        values: &'static [u64],
    },
    /// Allowed with any other value.
    NoneOf {
        argument: u32,
        values: &'static [u64],
    },
    /// Allowed with none of these bits.
    Without {
        argument: u32,
        bits: &'static [u64],
    },
}

/// Neighbouring calls that get the same, up to the next range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u32,
    pub(super) verdict: Verdict,
}

/// All calls by their numbers; the last range has no end.
pub(super) fn ranges() -> Vec<Range> {
    let mut named = named();
    named.sort_unstable_by_key(|(call, _)| *call);
    let mut ranges = vec![Range {
        first: 0,
        verdict: Verdict::Unknown,
    }];
    let mut next = 0;
    for (call, verdict) in named {
        if call > next {
            begin(&mut ranges, next, Verdict::Unknown);
        }
        begin(&mut ranges, call, verdict);
        next = call + 1;
    }
    begin(&mut ranges, next, Verdict::Unknown);
    ranges
}

fn begin(ranges: &mut Vec<Range>, first: u32, verdict: Verdict) {
    // A range that another one begins with has no calls of its own.
    ranges.pop_if(|last| last.first == first);
    if ranges.last().is_none_or(|last| last.verdict != verdict) {
        ranges.push(Range { first, verdict });
    }
}

fn named() -> Vec<(u32, Verdict)> {
    let number = |call: &i64| u32::try_from(*call).expect("system calls count from zero");
    let all = |calls: &'static [i64], verdict: fn(i64) -> Verdict| {
        calls
            .iter()
            .map(move |call| (number(call), verdict(*call)))
            .collect::<Vec<_>>()
    };
    [
        all(table::ALLOWED, allowed),
        all(table::REFUSED, |_| Verdict::Refuse),
        all(table::FATAL, |_| Verdict::Kill),
    ]
    .concat()
}

/// Some calls are not allowed with every argument.
fn allowed(call: i64) -> Verdict {
    match call {
        libc::SYS_ioctl => Verdict::NoneOf {
            argument: 1,
            values: table::REFUSED_IOCTLS,
        },
        libc::SYS_clone => Verdict::Without {
            argument: 0,
            bits: table::NAMESPACES,
        },
        libc::SYS_socket | libc::SYS_socketpair => Verdict::OneOf {
            argument: 0,
            values: table::SOCKET_FAMILIES,
        },
        libc::SYS_personality => Verdict::OneOf {
            argument: 0,
            values: table::PERSONALITIES,
        },
        _ => Verdict::Allow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_in_two_tables() {
        let mut all: Vec<i64> = [table::ALLOWED, table::REFUSED, table::FATAL].concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn every_named_call_is_in_a_range_of_its_verdict() {
        let ranges = ranges();
        for (call, verdict) in named() {
            let found = ranges.iter().rev().find(|range| range.first <= call);
            assert_eq!(found.map(|range| range.verdict), Some(verdict), "{call}");
        }
    }

    #[test]
    fn ranges_ascend_and_neighbours_differ() {
        let ranges = ranges();
        assert_eq!(ranges[0].first, 0);
        for pair in ranges.windows(2) {
            assert!(pair[0].first < pair[1].first, "{pair:?}");
            assert_ne!(pair[0].verdict, pair[1].verdict, "{pair:?}");
        }
        assert_eq!(ranges.last().unwrap().verdict, Verdict::Unknown);
    }
}
