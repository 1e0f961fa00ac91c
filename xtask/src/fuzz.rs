//! The adapters against bytes that libFuzzer makes up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{cargo, root, run as run_command};
use crate::failure::Failure;

/// What each adapter is given, where the caller does not say.
const SECONDS: u32 = 60;
/// Longer inputs find nothing that shorter ones do not.
const MAX_LENGTH: &str = "-max_len=65536";
/// An adapter that takes this many seconds for so little hangs.
const TIMEOUT: &str = "-timeout=10";
/// Counters at every edge, and what is compared with what: libFuzzer looks at these. They need no nightly compiler, as
/// sanitizers would.
const FLAGS: &str = "-Cpasses=sancov-module -Ccodegen-units=1 \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let asked = Asked::read(arguments)?;
    let testdata = root().join("crates/insight/testdata");
    let adapters = adapters(&testdata)?;
    let unknown = asked.adapters.iter().find(|name| !adapters.contains(name));
    if let Some(name) = unknown {
        return Err(Failure::Usage(format!("there is no adapter {name:?}")));
    }
    let place = root().join("target/fuzz");
    let program = build(&place)?;
    let chosen = if asked.adapters.is_empty() {
        &adapters
    } else {
        &asked.adapters
    };
    for adapter in chosen {
        println!("{adapter}, {} seconds", asked.seconds);
        let corpus = place.join("corpus").join(adapter);
        let found = place.join("found");
        for directory in [&corpus, &found] {
            fs::create_dir_all(directory).map_err(|error| {
                Failure::failed(format!("cannot make {}: {error}", directory.display()))
            })?;
        }
        let mut command = Command::new(&program);
        command
            .env("ADAPTER", adapter)
            .args([&corpus, &testdata.join(adapter)])
            .args([MAX_LENGTH, TIMEOUT])
            .arg(format!("-max_total_time={}", asked.seconds))
            .arg(format!("-artifact_prefix={}/{adapter}-", found.display()));
        run_command(&mut command)?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Asked {
    adapters: Vec<String>,
    seconds: u32,
}

impl Asked {
    fn read(arguments: &[String]) -> Result<Self, Failure> {
        let mut asked = Self {
            adapters: Vec::new(),
            seconds: SECONDS,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--seconds" {
                let seconds = words.next().and_then(|word| word.parse().ok());
                asked.seconds = seconds
                    .filter(|seconds| *seconds > 0)
                    .ok_or_else(|| Failure::Usage("--seconds is a whole number".into()))?;
            } else if word.starts_with('-') {
                return Err(Failure::Usage(format!("what is {word:?}?")));
            } else {
                asked.adapters.push(word.clone());
            }
        }
        Ok(asked)
    }
}

/// Those that have test data to start from: a directory is named after its adapter.
fn adapters(testdata: &Path) -> Result<Vec<String>, Failure> {
    let unreadable =
        |error| Failure::failed(format!("cannot read {}: {error}", testdata.display()));
    let mut adapters = Vec::new();
    for entry in fs::read_dir(testdata).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.path().is_dir() {
            adapters.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    adapters.sort();
    Ok(adapters)
}

fn build(place: &Path) -> Result<PathBuf, Failure> {
    let host = host_platform()?;
    let target = place.join("build");
    // With a platform named, build scripts are compiled without the counters.
    let mut command = cargo(["build", "--release", "--target", &host, "--target-dir"]);
    command
        .arg(&target)
        .current_dir(root().join("crates/insight/fuzz"))
        .env("RUSTFLAGS", FLAGS);
    run_command(&mut command)?;
    Ok(target.join(host).join("release/kiln-insight-fuzz"))
}

fn host_platform() -> Result<String, Failure> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .map_err(|error| Failure::failed(format!("cannot run rustc: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Failure::failed("rustc does not name its host"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Asked, Failure> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        Asked::read(&words)
    }

    #[test]
    fn adapters_and_a_time_are_read_in_any_order() {
        let asked = read(&["go_bench", "--seconds", "5", "json"]).unwrap();
        assert_eq!(asked.adapters, ["go_bench", "json"]);
        assert_eq!(asked.seconds, 5);
    }

    #[test]
    fn other_words_are_refused() {
        for words in [&["--second", "5"][..], &["--seconds"], &["--seconds", "0"]] {
            assert!(matches!(read(words), Err(Failure::Usage(_))), "{words:?}");
        }
    }

    #[test]
    fn every_directory_of_test_data_is_an_adapter() {
        let adapters = adapters(&root().join("crates/insight/testdata")).unwrap();
        assert!(adapters.contains(&"go_bench".to_owned()));
        assert!(!adapters.contains(&"README.md".to_owned()));
    }
}
