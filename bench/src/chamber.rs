//! Starting a static `true` in a namespace chamber and taking it down again, beside other sandboxes.

pub(crate) mod base;
mod ours;
mod peer;
mod plain_groups;

use std::path::Path;
use std::time::Duration;

use crate::failure::Failure;
use crate::report::{Measurement, Side};
use crate::sample::Sample;
use crate::statistics::{Summary, quantile, sorted};
use crate::stopwatch::Stopwatch;
use crate::target::{Target, Verdict};
use crate::window::{ROUNDS, Window};

pub(crate) use plain_groups::ensure;

/// On a quiet machine with two cores.
const P50_MS: f64 = 2.5;
/// Our rate by theirs.
const BY_BWRAP: f64 = 1.0;
const BY_CRUN: f64 = 2.0;
const BY_PODMAN: f64 = 1.0 / 0.03;

/// One way to run `true` in isolation.
trait Sandbox {
    fn name(&self) -> &'static str;
    fn run_once(&mut self) -> Result<(), Failure>;
}

pub(crate) fn measure(
    place: &Path,
    window: Window,
    say: &dyn Fn(&str),
) -> Result<Measurement, Failure> {
    let root = base::make(place)?;
    let mut sides: Vec<Box<dyn Sandbox>> = vec![
        Box::new(ours::Ours::prepare(&root)?),
        Box::new(peer::bwrap(&root)),
        Box::new(peer::crun(&root, place)?),
        Box::new(peer::podman(&root)),
    ];
    let mut notes = Vec::new();
    sides.retain_mut(|side| match side.run_once() {
        Ok(()) => true,
        Err(failure) => {
            notes.push(format!("{} does not run here: {failure}", side.name()));
            false
        }
    });
    let mut samples = vec![Vec::new(); sides.len()];
    let mut spans = Vec::new();
    for number in 1..=ROUNDS {
        say(&format!("chamber: round {number} of {ROUNDS}"));
        for (index, side) in sides.iter_mut().enumerate() {
            repeat(side.as_mut(), window.warm_up)?;
            let each = repeat(side.as_mut(), window.measured)?;
            samples[index].push(sample(&each));
            if index == 0 {
                spans.extend(each);
            }
        }
    }
    let millis = sorted(spans.iter().map(|span| span.as_secs_f64() * 1e3));
    notes.push(format!(
        "ours: p50 {:.2} ms, p99 {:.2} ms over {} runs",
        quantile(&millis, 0.5),
        quantile(&millis, 0.99),
        millis.len()
    ));
    let ours = samples[0].clone();
    let rows: Vec<Side> = sides
        .iter()
        .zip(&samples)
        .enumerate()
        .map(|(index, (side, samples))| match index {
            0 => Side::ours(side.name(), &ours, Sample::rate),
            _ => Side::beside(side.name(), &ours, samples),
        })
        .collect();
    Ok(Measurement {
        name: "chamber",
        what: "start, exit and teardown of a static `true` from an unpacked image, one after another",
        unit: "runs/s",
        fsync: None,
        targets: targets(&rows, quantile(&millis, 0.5)),
        sides: rows,
        notes,
    })
}

/// Runs again and again for a while, at least once. How long each run took.
fn repeat(side: &mut dyn Sandbox, span: Duration) -> Result<Vec<Duration>, Failure> {
    let all = Stopwatch::start();
    let mut spans = Vec::new();
    while spans.is_empty() || all.elapsed() < span {
        let one = Stopwatch::start();
        side.run_once()?;
        spans.push(one.elapsed());
    }
    Ok(spans)
}

fn sample(spans: &[Duration]) -> Sample {
    Sample {
        operations: spans.len() as u64,
        wall: spans.iter().sum(),
        ..Sample::default()
    }
}

fn targets(rows: &[Side], p50_ms: f64) -> Vec<Target> {
    let beside = [
        (peer::BWRAP, BY_BWRAP, "faster than bwrap --unshare-all"),
        (peer::CRUN, BY_CRUN, "at most 0.5 of crun's time"),
        (peer::PODMAN, BY_PODMAN, "at most 0.03 of podman's time"),
    ];
    let ratios = beside.into_iter().filter_map(|(name, wanted, what)| {
        let ratio = rows.iter().find(|side| side.name == name)?.ours_by_this?;
        Some(Target {
            what: what.to_owned(),
            verdict: Verdict::at_least(ratio.median, wanted),
            reached: reached(ratio),
        })
    });
    let absolute = Target {
        what: "p50 of at most 2.5 ms on a quiet machine with two cores".to_owned(),
        verdict: Verdict::at_least(P50_MS / p50_ms, 1.0),
        reached: format!("{p50_ms:.2} ms"),
    };
    ratios.chain([absolute]).collect()
}

fn reached(ratio: Summary) -> String {
    format!(
        "{:.3} of its time ({:.3}–{:.3})",
        1.0 / ratio.median,
        1.0 / ratio.highest,
        1.0 / ratio.lowest
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: &'static str, ours_by_this: f64) -> Side {
        Side {
            ours_by_this: Some(Summary::of([ours_by_this])),
            ..Side::ours(name, &[sample(&[Duration::from_millis(2)])], Sample::rate)
        }
    }

    #[test]
    fn each_peer_has_a_target_of_its_own() {
        let rows = [side(peer::BWRAP, 1.2), side(peer::CRUN, 1.9)];
        let verdicts: Vec<Verdict> = targets(&rows, 2.4)
            .into_iter()
            .map(|target| target.verdict)
            .collect();
        assert_eq!(verdicts, [Verdict::Met, Verdict::Missed, Verdict::Met]);
    }

    #[test]
    fn a_side_runs_at_least_once() {
        struct Counting(u32);
        impl Sandbox for Counting {
            fn name(&self) -> &'static str {
                "counting"
            }
            fn run_once(&mut self) -> Result<(), Failure> {
                self.0 += 1;
                Ok(())
            }
        }
        assert_eq!(repeat(&mut Counting(0), Duration::ZERO).unwrap().len(), 1);
    }
}
