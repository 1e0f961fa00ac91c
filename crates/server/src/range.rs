//! The two headers that speak of parts: what of a blob is asked for, and where a chunk of an upload belongs.

use std::ops::Range;

use axum::http::header::{CONTENT_RANGE, HeaderMap, RANGE};

/// What of a blob a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    All,
    Part(Range<u64>),
    /// It asks for bytes that are not there.
    Nothing,
}

impl Wanted {
    /// Reads `Range`. Other units and several parts at once are not understood, which the standard lets us overlook.
    pub(crate) fn of(headers: &HeaderMap, size: u64) -> Self {
        let Some(parts) = text(headers, &RANGE).and_then(|value| value.strip_prefix("bytes="))
        else {
            return Self::All;
        };
        let Some((first, last)) = parts
            .trim()
            .split_once('-')
            .filter(|_| !parts.contains(','))
        else {
            return Self::All;
        };
        let range = match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(size),
            (Some(first), None) if last.is_empty() => first..size,
            (None, Some(count)) if first.is_empty() => size.saturating_sub(count)..size,
            (Some(_), Some(_)) => return Self::Nothing,
            _ => return Self::All,
        };
        if range.is_empty() {
            Self::Nothing
        } else {
            Self::Part(range)
        }
    }
}

/// Where a chunk says it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// It does not say.
    Anywhere,
    At {
        start: u64,
        length: u64,
    },
    Nonsense,
}

impl Claimed {
    /// Reads `Content-Range: <first>-<last>`.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let Some(value) = headers.get(CONTENT_RANGE) else {
            return Self::Anywhere;
        };
        let bounds = value.to_str().ok().and_then(|text| {
            let (first, last) = text.trim().split_once('-')?;
            Some((number(first)?, number(last)?))
        });
        match bounds {
            Some((first, last)) if first <= last && last < u64::MAX => Self::At {
                start: first,
                length: last - first + 1,
            },
            _ => Self::Nonsense,
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &axum::http::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Digits and nothing else: the standard library's parser would take a sign.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        None
    } else {
        text.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: axum::http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn one_part_of_a_blob_can_be_asked_for() {
        let check = |value: &str, expected: Wanted| {
            assert_eq!(
                Wanted::of(&headers(RANGE, value), 2048),
                expected,
                "{value}"
            );
        };
        check("bytes=500-1499", Wanted::Part(500..1500));
        check("bytes=500-", Wanted::Part(500..2048));
        check("bytes=-500", Wanted::Part(1548..2048));
        check("bytes=-5000", Wanted::Part(0..2048));
        check("bytes=2000-5000", Wanted::Part(2000..2048));
        check("bytes=0-18446744073709551615", Wanted::Part(0..2048));
        check("bytes=500-0", Wanted::Nothing);
        check("bytes=5000-10000", Wanted::Nothing);
        check("bytes=2048-", Wanted::Nothing);
        check("bytes=-0", Wanted::Nothing);
        for overlooked in [
            "bytes=0-1,5-6",
            "lines=1-2",
            "bytes=",
            "bytes=a-b",
            "bytes=-",
            "bytes=+1-2",
        ] {
            check(overlooked, Wanted::All);
        }
        assert_eq!(Wanted::of(&HeaderMap::new(), 2048), Wanted::All);
    }

    #[test]
    fn nothing_can_be_asked_of_an_empty_blob() {
        assert_eq!(Wanted::of(&headers(RANGE, "bytes=0-"), 0), Wanted::Nothing);
    }

    #[test]
    fn a_chunk_says_where_it_belongs_or_does_not() {
        let check = |value: &str, expected| {
            assert_eq!(
                Claimed::of(&headers(CONTENT_RANGE, value)),
                expected,
                "{value}"
            );
        };
        check(
            "0-99",
            Claimed::At {
                start: 0,
                length: 100,
            },
        );
        check(
            "100-100",
            Claimed::At {
                start: 100,
                length: 1,
            },
        );
        for nonsense in [
            "",
            "1",
            "9-1",
            "-1",
            "a-b",
            "+1-2",
            "0-18446744073709551615",
            "0-99999999999999999999",
        ] {
            check(nonsense, Claimed::Nonsense);
        }
        assert_eq!(Claimed::of(&HeaderMap::new()), Claimed::Anywhere);
    }
}
