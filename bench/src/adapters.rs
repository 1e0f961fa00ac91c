//! Each adapter on real output of its harness, beside a plain reading of the same bytes.

mod files;

use std::hint::black_box;
use std::time::Duration;

use files::{FILES, File, Form};
use kiln_insight::{Settings, parse};

use crate::failure::Failure;
use crate::report::{Measurement, Side};
use crate::sample::{Reading, Sample};
use crate::stopwatch::Stopwatch;
use crate::target::{Target, Verdict};
use crate::window::{ROUNDS, Window};

/// How many times as long as the plain reading an adapter may take.
const AT_MOST: f64 = 5.0;

/// All adapters together take as long as a few sides of another measurement.
const SHARE: u32 = 8;

/// How many bytes are read between two looks at the clock: some 50 µs, which a busy machine leaves alone now and then.
const BATCH: usize = 16 << 10;

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
        let samples: Vec<Sample> = ours.iter().map(|turn| turn.sample).collect();
        sides.push(Side::ours(file.adapter.name(), &samples, Sample::rate));
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
            "a target compares the fastest batch of one side with the fastest of the other"
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

/// What came of reading a file for a while.
struct Turn {
    /// An operation is a byte.
    sample: Sample,
    /// The fastest batch: what the work takes when nobody interrupts.
    fastest: Duration,
}

/// Reads the text again and again.
fn run(file: &File, how_long: Duration, read: fn(&File)) -> Turn {
    let times = (BATCH / file.text.len()).max(1);
    let stopwatch = Stopwatch::start();
    let before = Reading::take(&stopwatch, 0, 0);
    let (mut bytes, mut fastest) = (0, Duration::MAX);
    loop {
        let started = stopwatch.elapsed();
        for _ in 0..times {
            read(file);
        }
        let now = stopwatch.elapsed();
        fastest = fastest.min(now.saturating_sub(started));
        bytes += (file.text.len() * times) as u64;
        if now >= how_long {
            let sample = Reading::take(&stopwatch, bytes, 0).since(&before);
            return Turn { sample, fastest };
        }
    }
}

fn target(file: &File, ours: &[Turn], plain: &[Turn]) -> Target {
    let fastest = |turns: &[Turn]| {
        let fastest = turns.iter().map(|turn| turn.fastest).min();
        fastest.unwrap_or_default().as_secs_f64()
    };
    let ratio = fastest(ours) / fastest(plain);
    Target {
        what: format!("{}: at most 5 times the plain reading", file.adapter),
        verdict: Verdict::at_least(AT_MOST, ratio),
        reached: format!("{ratio:.2} times"),
    }
}

#[cfg(test)]
mod tests {
    use kiln_insight::Adapter;

    use super::*;

    fn turn(micros: u64) -> Turn {
        Turn {
            sample: Sample::default(),
            fastest: Duration::from_micros(micros),
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
        let verdict =
            |ours, plain| target(&FILES[0], &[turn(900), turn(ours)], &[turn(plain)]).verdict;
        assert_eq!(verdict(500, 100), Verdict::Met);
        assert_eq!(verdict(501, 100), Verdict::Missed);
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
        let turn = run(&FILES[0], Duration::ZERO, read_plainly);
        let length = FILES[0].text.len();
        assert_eq!(turn.sample.operations, (BATCH / length * length) as u64);
        assert!(turn.fastest <= turn.sample.wall);
    }
}
