//! Unpacking an image of 200 MB beside umoci and podman, and starting a command of it a second time.

mod image;
mod ours;
mod peer;

use std::path::Path;
use std::time::Duration;

use crate::failure::Failure;
use crate::report::{Measurement, Side};
use crate::sample::Sample;
use crate::statistics::{quantile, sorted};
use crate::stopwatch::Stopwatch;
use crate::target::{Target, Verdict};

/// Each writes 200 MB three times.
const ROUNDS: u32 = 3;
const SECOND_STARTS: u32 = 100;
const SECOND_START_MS: f64 = 20.0;

/// One way to make a root file system of an image.
trait Unpacker {
    fn name(&self) -> &'static str;
    /// Unpacks into a directory that is not there yet.
    fn unpack(&mut self, to: &Path) -> Result<(), Failure>;
    /// What removing the directory would not undo.
    fn tidy_up(&mut self, _to: &Path) {}
}

pub(crate) fn measure(place: &Path, say: &dyn Fn(&str)) -> Result<Measurement, Failure> {
    say("unpack: making an image of 200 MB");
    let place = &place.join("unpack");
    let layout = image::make(place)?;
    let mut sides: Vec<Box<dyn Unpacker>> = vec![
        Box::new(ours::Ours::open(&layout)?),
        Box::new(peer::Umoci::of(&layout)),
        Box::new(peer::Podman::of(&layout)),
    ];
    let mut notes = Vec::new();
    sides.retain_mut(|side| match one(side.as_mut(), place) {
        Ok(_) => true,
        Err(failure) => {
            notes.push(format!("{} does not run here: {failure}", side.name()));
            false
        }
    });
    let mut samples = vec![Vec::new(); sides.len()];
    for number in 1..=ROUNDS {
        say(&format!("unpack: round {number} of {ROUNDS}"));
        for (index, side) in sides.iter_mut().enumerate() {
            samples[index].push(Sample {
                operations: image::MEGABYTES,
                wall: one(side.as_mut(), place)?,
                ..Sample::default()
            });
        }
    }
    say("unpack: starting from the cache");
    let starts = ours::second_starts(&layout, &place.join("cache"), SECOND_STARTS)?;
    let starts = sorted(starts.iter().map(|span| span.as_secs_f64() * 1e3));
    let rows: Vec<Side> = sides
        .iter()
        .zip(&samples)
        .enumerate()
        .map(|(index, (side, own))| match index {
            0 => Side::ours(side.name(), own, Sample::rate),
            _ => Side::beside(side.name(), &samples[0], own),
        })
        .collect();
    notes.push(format!(
        "a second start, from the image's digest to the command's end: p50 {:.1} ms, p99 {:.1} ms over {}",
        quantile(&starts, 0.5),
        quantile(&starts, 0.99),
        starts.len()
    ));
    Ok(Measurement {
        name: "unpack",
        what: "from an OCI layout with a layer of gzip to a root file system, 2,000 files",
        unit: "MB/s",
        fsync: None,
        targets: targets(&rows, quantile(&starts, 0.5)),
        sides: rows,
        notes,
    })
}

fn one(side: &mut dyn Unpacker, place: &Path) -> Result<Duration, Failure> {
    let to = place.join("unpacked");
    let watch = Stopwatch::start();
    let unpacked = side.unpack(&to);
    let span = watch.elapsed();
    // What failed halfway must not be in the way of the others.
    side.tidy_up(&to);
    match std::fs::remove_dir_all(&to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::io("tidy up", error));
        }
        Ok(()) | Err(_) => {}
    }
    unpacked.map(|()| span)
}

fn targets(rows: &[Side], second_start_ms: f64) -> Vec<Target> {
    let peers = rows.iter().filter_map(|side| {
        let ratio = side.ours_by_this?;
        Some(Target {
            what: format!("at least as fast as {}", side.name),
            verdict: Verdict::at_least(ratio.median, 1.0),
            reached: format!("{:.2} times", ratio.median),
        })
    });
    let second = Target {
        what: format!("a second start in at most {SECOND_START_MS} ms at p50"),
        verdict: Verdict::at_least(SECOND_START_MS / second_start_ms, 1.0),
        reached: format!("{second_start_ms:.1} ms"),
    };
    peers.chain([second]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Summary;

    #[test]
    fn each_peer_and_the_second_start_have_a_target() {
        let sample = Sample {
            operations: 1,
            wall: Duration::from_secs(1),
            ..Sample::default()
        };
        let ours = Side::ours("ours", &[sample], Sample::rate);
        let peer = Side {
            ours_by_this: Some(Summary::of([0.9])),
            ..ours.clone()
        };
        let verdicts: Vec<Verdict> = targets(&[ours, peer], 19.0)
            .into_iter()
            .map(|target| target.verdict)
            .collect();
        assert_eq!(verdicts, [Verdict::Missed, Verdict::Met]);
    }
}
