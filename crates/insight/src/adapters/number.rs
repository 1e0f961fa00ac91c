//! Numbers in text, as harnesses write them.

/// A finite decimal number. Words that the standard parser takes for numbers (`inf`, `NaN`) are none here.
pub(crate) fn float(text: &str) -> Option<f64> {
    let starts_like_one = text
        .trim_start_matches(['-', '+'])
        .starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = if starts_like_one {
        text.parse().ok()?
    } else {
        return None;
    };
    number.is_finite().then_some(number)
}

/// Like [`float`], with commas between the thousands.
pub(crate) fn grouped(text: &str) -> Option<f64> {
    if text.contains(',') {
        float(&text.replace(',', ""))
    } else {
        float(text)
    }
}

/// Cuts a number from what is written right behind it: `1.59k` into 1.59 and `k`.
pub(crate) fn with_suffix(text: &str) -> Option<(f64, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+')))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    Some((grouped(number)?, suffix.trim_start()))
}

/// A count as the number it stands for; counts of harnesses are far below the point where a float would round them.
#[expect(
    clippy::cast_precision_loss,
    reason = "rounding a count above 2^53 is harmless"
)]
pub(crate) fn count(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read() {
        assert_eq!(float("-1.5e3"), Some(-1500.0));
        assert_eq!(grouped("22,548,955.5"), Some(22_548_955.5));
        assert_eq!(with_suffix("1.59k"), Some((1.59, "k")));
        assert_eq!(with_suffix("2.37 μs"), Some((2.37, "μs")));
    }

    #[test]
    fn what_is_not_a_finite_number_is_none() {
        for text in [
            "", "NaN", "inf", "-inf", "infinity", "1e999", "1.2.3", "12x", "-",
        ] {
            assert_eq!(float(text), None, "{text}");
        }
    }
}
