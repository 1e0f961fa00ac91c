//! Each adapter on real output of its harness, beside a plain reading of the same bytes.

mod files;

use std::hint::black_box;
use std::time::Duration;

use files::{FILES, File, Form};
use kiln_insight::{Settings, parse};

use crate::failure::Failure;
use crate::report::{Measurement, Side};
use crate::sample::{Reading, Sample};
use crate::statistics::Summary;
use crate::stopwatch::Stopwatch;
use crate::target::{Target, Verdict};
use crate::window::{ROUNDS, Window};

/// How many times as long as the plain reading an adapter may take.
const AT_MOST: f64 = 5.0;

/// All adapters together take as long as a few sides of another measurement.
const SHARE: u32 = 8;

pub(crate) fn measure(window: Window, say: &dyn Fn(&str)) -> Result<Measurement, Failure> {
    let (mut sides, mut targets) = (Vec::new(), Vec::new());
    for file in FILES {
        say(&format!("adapters: {}", file.adapter));
        check(file)?;
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            run(file, window.warm_up / SHARE, adapt);
            ours.push(run(file, window.measured / SHARE, adapt));
            plain.push(run(file, window.measured / SHARE, read_plainly));
        }
        sides.push(Side::ours(file.adapter.name(), &ours, Sample::rate));
        targets.push(target(file, &ours, &plain));
    }
    Ok(Measurement {
        name: "adapters",
        what: "real output of each harness, read again and again",
        unit: "bytes/s",
        fsync: None,
        sides,
        targets,
        notes: vec![
            "plain is serde_json into a value for JSON, and every line cut into its words for text"
                .to_owned(),
        ],
    })
}

fn check(file: &File) -> Result<(), Failure> {
    parse(file.adapter, file.text, Settings::default())
        .map(drop)
        .map_err(|error| Failure::Wrong(format!("{}: {error}", file.adapter)))
}

fn adapt(file: &File) {
    black_box(parse(file.adapter, black_box(file.text), Settings::default()).is_ok());
}

fn read_plainly(file: &File) {
    let text = black_box(file.text);
    match file.form {
        Form::Json => drop(black_box(serde_json::from_str::<serde_json::Value>(text))),
        Form::Text => {
            let words = text.lines().map(|line| line.split_whitespace().count());
            black_box(words.sum::<usize>());
        }
    }
}

/// Reads the text again and again for a while; an operation is a byte.
fn run(file: &File, how_long: Duration, read: fn(&File)) -> Sample {
    let stopwatch = Stopwatch::start();
    let before = Reading::take(&stopwatch, 0, 0);
    let mut bytes = 0;
    loop {
        read(file);
        bytes += file.text.len() as u64;
        if stopwatch.elapsed() >= how_long {
            return Reading::take(&stopwatch, bytes, 0).since(&before);
        }
    }
}

/// Judged by CPU time: what the machine does besides is not our doing.
fn target(file: &File, ours: &[Sample], plain: &[Sample]) -> Target {
    let ratio = |(ours, plain): (&Sample, &Sample)| {
        let rate = |sample: &Sample| sample.cpu_rate().unwrap_or(f64::NAN);
        rate(plain) / rate(ours)
    };
    let ratios = Summary::of(ours.iter().zip(plain).map(ratio));
    Target {
        what: format!("{}: at most 5 times the plain reading", file.adapter),
        verdict: Verdict::at_least(AT_MOST, ratios.median),
        reached: format!(
            "{:.2} times ({:.2}–{:.2})",
            ratios.median, ratios.lowest, ratios.highest
        ),
    }
}

#[cfg(test)]
mod tests {
    use kiln_insight::Adapter;

    use super::*;

    fn sample(operations: u64) -> Sample {
        Sample {
            operations,
            commits: 0,
            wall: Duration::from_secs(1),
            cpu: Some(Duration::from_secs(1)),
        }
    }

    #[test]
    fn every_file_can_be_read() {
        for file in FILES {
            check(file).unwrap();
        }
    }

    #[test]
    fn five_times_as_long_is_met_and_more_is_a_miss() {
        let verdict = |ours, plain| target(&FILES[0], &[sample(ours)], &[sample(plain)]).verdict;
        assert_eq!(verdict(100, 500), Verdict::Met);
        assert_eq!(verdict(100, 501), Verdict::Missed);
    }

    #[test]
    fn every_harness_is_measured() {
        let parts = [Adapter::RustGungraunStdout, Adapter::RustGungraunJson];
        for adapter in Adapter::ALL.iter().copied() {
            let is_group = adapter.normalized() == Adapter::Magic;
            let times = FILES.iter().filter(|file| file.adapter == adapter).count();
            let is_measured = times > 0;
            assert!(
                is_measured != (is_group || parts.contains(&adapter)),
                "{adapter}"
            );
        }
    }

    #[test]
    fn a_run_counts_the_bytes_it_read() {
        let sample = run(&FILES[0], Duration::ZERO, read_plainly);
        assert_eq!(sample.operations, FILES[0].text.len() as u64);
    }
}
