//! How numbers are written.

use std::time::Duration;

use serde::Serializer;

/// A whole number with its thousands set apart.
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        let rest = digits.len() - index;
        if index > 0 && rest.is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

pub(super) fn as_seconds<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (value, expected) in [
            (0.4, "0"),
            (999.0, "999"),
            (1_000.0, "1,000"),
            (12_345.6, "12,346"),
            (1_234_567.0, "1,234,567"),
            (-123_456.0, "-123,456"),
        ] {
            assert_eq!(grouped(value), expected);
        }
    }
}
