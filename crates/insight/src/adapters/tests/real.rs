//! Every adapter on the real output of its harness.

use super::files::FILES;
use crate::{Adapter, Results, Settings, describe, parse};

fn read(adapter: Adapter, path: &str, text: &str) -> Results {
    parse(adapter, text, Settings::default()).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn real_output_is_read_as_expected() {
    for file in FILES {
        let results = read(file.adapter, file.path, file.text);
        let found = serde_json::to_string_pretty(&results).unwrap();
        assert_eq!(found, file.expected.trim_end(), "{}", file.path);
    }
}

#[test]
fn magic_reads_real_output_as_the_adapter_of_its_harness_does() {
    for file in FILES {
        let by_magic = read(Adapter::Magic, file.path, file.text);
        assert_eq!(
            by_magic,
            read(file.adapter, file.path, file.text),
            "{}",
            file.path
        );
    }
}

#[test]
fn every_adapter_has_real_output_or_what_its_documentation_shows() {
    let parts = [Adapter::RustGungraunStdout, Adapter::RustGungraunJson];
    for adapter in Adapter::ALL.iter().copied() {
        let is_group = adapter.normalized() == Adapter::Magic;
        let has_file = FILES.iter().any(|file| file.adapter == adapter);
        assert!(
            has_file || is_group || parts.contains(&adapter),
            "{adapter}"
        );
    }
}

#[test]
fn every_measure_has_a_unit_but_those_that_authors_of_benchmarks_made_up() {
    let made_up = ["swaps", "items", "value", "LockContentionCount"];
    for file in FILES {
        let results = read(file.adapter, file.path, file.text);
        for measure in results.iter().flat_map(|(_, measures)| measures.keys()) {
            let is_known = describe(measure.as_str()).units != "Measure (units)";
            let is_made_up = made_up.contains(&measure.as_str());
            assert!(is_known != is_made_up, "{}: {measure}", file.path);
        }
    }
}

#[test]
fn windows_line_ends_and_colours_change_nothing() {
    for file in FILES {
        let expected = read(file.adapter, file.path, file.text);
        let windows = file.text.replace('\n', "\r\n");
        assert_eq!(
            read(file.adapter, file.path, &windows),
            expected,
            "{}",
            file.path
        );
        let coloured = file.text.replace('\n', "\u{1b}[0m\n\u{1b}[1m");
        assert_eq!(
            read(file.adapter, file.path, &coloured),
            expected,
            "{}",
            file.path
        );
    }
}
