//! No input makes an adapter panic, and none gets a number past it that is not finite.

use proptest::prelude::*;

use super::files::FILES;
use crate::{Adapter, Average, Settings, parse, parse_bytes};

const AVERAGES: [Option<Average>; 2] = [None, Some(Average::Median)];

/// Every adapter, with every average: a panic fails the test, everything else is an answer.
fn survives(output: &[u8]) {
    for adapter in Adapter::ALL.iter().copied() {
        survives_in(adapter, output);
    }
}

/// What is read survives being written and read again; what is refused is refused in a few words.
pub(super) fn survives_in(adapter: Adapter, output: &[u8]) {
    for average in AVERAGES {
        let settings = Settings {
            average,
            fold: None,
        };
        let text = String::from_utf8_lossy(output);
        for result in [
            parse(adapter, &text, settings),
            parse_bytes(adapter, output, settings),
        ] {
            match result {
                Ok(results) => {
                    let written = serde_json::to_string(&results).unwrap();
                    let read = parse(Adapter::Json, &written, Settings::default());
                    assert_eq!(read.as_ref(), Ok(&results), "{adapter}");
                }
                Err(error) => assert!(error.to_string().len() < 16 * 1024, "{adapter}"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_survived(output in proptest::collection::vec(any::<u8>(), 0..256)) {
        survives(&output);
    }

    #[test]
    fn arbitrary_text_is_survived(text in "(\\PC|\n|\t){0,200}") {
        survives(text.as_bytes());
    }
}

#[test]
fn output_that_ends_early_is_survived() {
    for file in FILES {
        for end in 0..32 {
            let cut = file.text.len() * end / 32;
            survives_in(file.adapter, &file.text.as_bytes()[..cut]);
        }
    }
}

#[test]
fn numbers_that_are_not_finite_never_become_metrics() {
    for file in FILES {
        for word in ["NaN", "nan", "inf", "Infinity", "1e999"] {
            let digits = |c: char| c.is_ascii_digit() || c == '.';
            let text = replace_numbers(file.text, digits, word);
            if let Ok(results) = parse(file.adapter, &text, Settings::default()) {
                let metrics = results.iter().flat_map(|(_, measures)| measures.values());
                assert!(
                    metrics.into_iter().all(|metric| metric.value().is_finite()),
                    "{}",
                    file.path
                );
            }
        }
    }
}

fn replace_numbers(text: &str, is_digit: fn(char) -> bool, word: &str) -> String {
    let mut replaced = String::new();
    let mut was_digit = false;
    for c in text.chars() {
        if !is_digit(c) {
            replaced.push(c);
        } else if !was_digit {
            replaced.push_str(word);
        }
        was_digit = is_digit(c);
    }
    replaced
}

#[test]
fn endless_lines_are_survived() {
    let long = "x".repeat(256 * 1024);
    for adapter in Adapter::ALL.iter().copied() {
        let error = parse(adapter, &long, Settings::default()).unwrap_err();
        assert!(error.to_string().len() < 16 * 1024, "{adapter}");
    }
}

#[test]
fn nesting_without_end_is_refused() {
    for (open, adapter) in [
        ("[", Adapter::JavaJmh),
        ("[", Adapter::JsTinybench),
        ("{\"a\":", Adapter::Json),
        ("{\"benchmarks\":[", Adapter::CppGoogle),
        ("{\"a\":[", Adapter::RustGungraun),
        ("<a>", Adapter::CppCatch2),
        ("<testcase>", Adapter::RustNextest),
    ] {
        let text = open.repeat(100_000);
        assert!(
            parse(adapter, &text, Settings::default()).is_err(),
            "{adapter}"
        );
        assert!(
            parse(Adapter::Magic, &text, Settings::default()).is_err(),
            "{adapter}"
        );
    }
}
