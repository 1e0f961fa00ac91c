//! Machines of the QEMU back end: from a template to the command, from nothing to the command beside bare QEMU, and what
//! QEMU needs for itself.

mod bare;
mod ours;
mod resident;

use std::fs;
use std::path::Path;
use std::time::Duration;

use kiln_sandbox::GuestKernel;

use crate::chamber::base;
use crate::failure::Failure;
use crate::report::{Measurement, Side};
use crate::sample::Sample;
use crate::statistics::{quantile, sorted};
use crate::stopwatch::Stopwatch;
use crate::target::{Target, Verdict};
use crate::window::{ROUNDS, Window};
use ours::{Iterations, Ours};

/// What a command says as soon as it runs.
const WORD: &str = "the command runs";

/// On a quiet machine with two cores, emulated.
const FROM_TEMPLATE_MS: f64 = 150.0;
const RESIDENT_MIB: f64 = 96.0;

pub(crate) fn measure(
    place: &Path,
    window: Window,
    say: &dyn Fn(&str),
) -> Result<Measurement, Failure> {
    let kernel = GuestKernel::find().map_err(|error| Failure::Wrong(error.to_string()))?;
    let root = base::make(place)?;
    fs::hard_link(root.join("bin/true"), root.join("bin/echo"))
        .map_err(|source| Failure::io("make a root file system", source))?;
    let ours = Ours::new(place, &root, &kernel)?;
    let bare = bare::Bare::new(place, &root, &kernel)?;
    say("microvm: the first machine");
    let machines = ours.machines();
    let image = ours.new_image()?;
    Ours::job(&machines, &image)?;
    let mut single = ours.unready(&machines, Iterations::One)?;
    // In a back end of its own: what it has made would be found by the one above.
    let apart = ours.machines();
    let mut repeated = ours.unready(&apart, Iterations::Many)?;
    // The one from which all others are restored.
    repeated.start_of_command()?;
    let mut networked = ours.networked(&apart);
    if let Ok(networked) = &mut networked {
        networked.start_of_command()?;
    }
    let mut booting = ours.cold()?;
    let (mut cold, mut cold_bare) = (Vec::new(), Vec::new());
    let mut spans = Spans::default();
    for number in 1..=ROUNDS {
        say(&format!("microvm: round {number} of {ROUNDS}"));
        spans.listening.push(ours.boot()?);
        cold.push(booting.word_of_command()?);
        cold_bare.push(bare.boot()?);
        spans.first_of_runner.push(ours.first_command()?);
        let round = Stopwatch::start();
        loop {
            let known = Ours::job(&machines, &image)?;
            spans.known.push(known.set_up + known.start);
            let new = Ours::job(&machines, &ours.new_image()?)?;
            spans.new_set_up.push(new.set_up);
            spans.new.push(new.start);
            spans.unready.push(single.start_of_command()?);
            spans.repeated.push(repeated.start_of_command()?);
            if let Ok(networked) = &mut networked {
                spans.networked.push(networked.start_of_command()?);
            }
            if round.elapsed() >= window.measured {
                break;
            }
        }
    }
    let resident = repeated.resident_mebibytes()?;
    let samples = |spans: &[Duration]| -> Vec<Sample> { spans.iter().map(one).collect() };
    let (cold, cold_bare) = (samples(&cold), samples(&cold_bare));
    let sides = vec![
        Side::ours("ours: to the command's word", &cold, Sample::rate),
        Side::beside(
            "bare QEMU: to that of its init's command",
            &cold,
            &cold_bare,
        ),
    ];
    let warm_ms = [&spans.known, &spans.new, &spans.repeated]
        .map(|spans| quantile(&milliseconds(spans), 0.5))
        .into_iter()
        .fold(0.0, f64::max);
    let mut notes = spans.notes();
    notes.extend(
        networked
            .err()
            .map(|failure| format!("not with a network: {failure}")),
    );
    Ok(Measurement {
        name: "microvm",
        what: "booting Debian's cloud kernel in an emulated machine and running a command, one after another",
        unit: "boots/hour",
        fsync: None,
        targets: targets(&sides, warm_ms, resident),
        sides,
        notes,
    })
}

/// How long it took to come to a command, from a template.
#[derive(Default)]
struct Spans {
    known: Vec<Duration>,
    new: Vec<Duration>,
    new_set_up: Vec<Duration>,
    repeated: Vec<Duration>,
    /// Empty where this host has no network for machines.
    networked: Vec<Duration>,
    unready: Vec<Duration>,
    listening: Vec<Duration>,
    first_of_runner: Vec<Duration>,
}

impl Spans {
    fn notes(&self) -> Vec<String> {
        [
            (
                "to the only iteration of a job whose image this runner has run before, with its set-up",
                &self.known,
            ),
            (
                "to the only iteration of an image's first job, after its set-up",
                &self.new,
            ),
            ("that set-up, which seals a chamber", &self.new_set_up),
            ("to an iteration of several", &self.repeated),
            (
                "to an iteration of several with a network",
                &self.networked,
            ),
            (
                "to a command that nothing was made ready for",
                &self.unready,
            ),
            (
                "from nothing to a guest that listens, with a serial line",
                &self.listening,
            ),
            (
                "from nothing to a runner's first command, by way of its template",
                &self.first_of_runner,
            ),
        ]
        .into_iter()
        .filter(|(_, spans)| !spans.is_empty())
        .map(|(what, spans)| spread(what, &milliseconds(spans)))
        .collect()
    }
}

fn milliseconds(spans: &[Duration]) -> Vec<f64> {
    sorted(spans.iter().map(|span| span.as_secs_f64() * 1e3))
}

fn spread(what: &str, milliseconds: &[f64]) -> String {
    format!(
        "{what}: p50 {:.0} ms, p99 {:.0} ms over {} runs",
        quantile(milliseconds, 0.5),
        quantile(milliseconds, 0.99),
        milliseconds.len()
    )
}

/// A boot takes seconds, so that its rate is counted by the hour.
fn one(span: &Duration) -> Sample {
    Sample {
        operations: 3600,
        wall: *span,
        ..Sample::default()
    }
}

fn targets(sides: &[Side], warm_ms: f64, resident: f64) -> Vec<Target> {
    let cold = sides.iter().find_map(|side| side.ours_by_this);
    let cold = cold.map(|ratio| Target {
        what: "a cold boot to the command no slower than bare QEMU's with the same kernel"
            .to_owned(),
        verdict: Verdict::at_least(ratio.median, 1.0),
        reached: format!("{:.2} of its time", 1.0 / ratio.median),
    });
    let warm = Target {
        what: "from a template to the command in at most 150 ms on a quiet machine".to_owned(),
        verdict: Verdict::at_least(FROM_TEMPLATE_MS / warm_ms, 1.0),
        reached: format!("{warm_ms:.0} ms"),
    };
    let memory = Target {
        what: "QEMU's own memory at most 96 MiB".to_owned(),
        verdict: Verdict::at_least(RESIDENT_MIB / resident, 1.0),
        reached: format!("{resident:.0} MiB"),
    };
    cold.into_iter().chain([warm, memory]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Summary;

    #[test]
    fn each_promise_has_a_target() {
        let side = Side {
            ours_by_this: Some(Summary::of([1.1])),
            ..Side::ours("x", &[one(&Duration::from_secs(1))], Sample::rate)
        };
        let verdicts: Vec<Verdict> = targets(&[side], 200.0, 90.0)
            .into_iter()
            .map(|target| target.verdict)
            .collect();
        assert_eq!(verdicts, [Verdict::Met, Verdict::Missed, Verdict::Met]);
    }
}
