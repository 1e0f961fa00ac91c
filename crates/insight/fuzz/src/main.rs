#![doc = include_str!("../README.md")]
#![no_main]

use std::sync::LazyLock;

use kiln_insight::{Adapter, Average, Settings, parse, parse_bytes};
use libfuzzer_sys::fuzz_target;

/// The longest message that may be made of any output.
const MAX_MESSAGE: usize = 16 * 1024;

static ADAPTERS: LazyLock<Vec<Adapter>> = LazyLock::new(|| {
    let start = std::env::var("ADAPTER").unwrap_or_default();
    let all = Adapter::ALL.iter().copied();
    let chosen: Vec<Adapter> = all.filter(|one| one.name().starts_with(&start)).collect();
    assert!(!chosen.is_empty(), "no adapter begins with {start:?}");
    chosen
});

fuzz_target!(|output: &[u8]| {
    for adapter in ADAPTERS.iter().copied() {
        for average in [None, Some(Average::Median)] {
            let settings = Settings {
                average,
                fold: None,
            };
            match parse_bytes(adapter, output, settings) {
                Ok(results) => {
                    let written = serde_json::to_string(&results).expect("results are plain data");
                    let read = parse(Adapter::Json, &written, Settings::default());
                    assert_eq!(read.as_ref(), Ok(&results), "{adapter}");
                }
                Err(error) => assert!(error.to_string().len() < MAX_MESSAGE, "{adapter}"),
            }
        }
    }
});
