//! Units of time, size and count, as harnesses write them.

/// How many nanoseconds one of this unit has.
pub(crate) fn nanoseconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ps" => 1e-3,
        "ns" | "nanosecond" | "nanoseconds" => 1.0,
        // The micro sign and the Greek letter look the same and are both in use.
        "us" | "\u{b5}s" | "\u{3bc}s" | "microseconds" => 1e3,
        "ms" | "milliseconds" => 1e6,
        "s" | "sec" | "second" | "seconds" => 1e9,
        "m" | "min" => 60e9,
        "h" | "hr" => 3_600e9,
        "day" => 86_400e9,
        _ => return None,
    })
}

/// How many bytes one of this unit has. `KB` is decimal; a harness that means 1024 by it says so to itself.
pub(crate) fn bytes(unit: &str) -> Option<f64> {
    Some(match unit {
        "B" => 1.0,
        "KB" | "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "TiB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

/// A decimal prefix alone, as in `1.59k` or `3 Melem/s`.
pub(crate) fn prefix(prefix: &str) -> Option<f64> {
    Some(match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_letters_for_micro_are_understood() {
        assert_eq!(nanoseconds("µs"), Some(1e3));
        assert_eq!(nanoseconds("μs"), Some(1e3));
        assert_eq!(nanoseconds("us"), Some(1e3));
    }

    #[test]
    fn decimal_and_binary_sizes_are_told_apart() {
        assert_eq!(bytes("MB"), Some(1e6));
        assert_eq!(bytes("MiB"), Some(1_048_576.0));
    }

    #[test]
    fn unknown_units_are_none() {
        assert_eq!(nanoseconds("fortnights"), None);
        assert_eq!(bytes("bits"), None);
        assert_eq!(prefix("x"), None);
    }
}
