//! How often the paired verdict is right: on real, noisy, autocorrelated timings of one program, dealt out as two.

use kiln_insight::{PairedSettings, Side, Verdict as Paired, self_check, side_of_turn};

use crate::failure::Failure;
use crate::report::Measurement;
use crate::stopwatch::Stopwatch;
use crate::target::{Target, Verdict};

/// How many runs are judged.
const RUNS: usize = 1_000;
/// Sixty pairs are 120 turns.
const TURNS: usize = 120;
/// How many timings the runs are cut out of.
const TIMINGS: usize = 6_000;
/// A timing is the fastest of so many repetitions, as many harnesses report it.
const REPETITIONS: usize = 15;
/// The least difference that matters.
const GATE: f64 = 0.02;
/// What is added to the head to see whether it is found.
const INJECTED: f64 = 0.03;
/// The promise about finding it is made for hosts at most so noisy.
const NOISE: f64 = 0.02;

pub(crate) fn measure(say: &dyn Fn(&str)) -> Result<Measurement, Failure> {
    say("verdicts: timing one program again and again");
    let timings = timings();
    say("verdicts: judging runs cut out of the timings");
    let equal = Tally::of(&timings, 0.0)?;
    let slower = Tally::of(&timings, INJECTED)?;
    let wrong = equal.share(equal.faster + equal.slower);
    let quiet = slower.quiet;
    let found = slower.quiet_slower;
    let enough = quiet >= RUNS / 20;
    let targets = vec![
        Target {
            what: format!("at most 1 % of {RUNS} runs of equal programs called different"),
            verdict: Verdict::at_least(0.01, wrong),
            reached: format!("{} of {RUNS}", equal.faster + equal.slower),
        },
        Target {
            what: "at least 95 % of +3 % found with 60 pairs where the noise is at most 2 %"
                .to_owned(),
            verdict: Verdict::at_least(ratio(found, quiet), 0.95).only_if(enough),
            reached: format!("{found} of {quiet} quiet runs"),
        },
    ];
    Ok(Measurement {
        name: "verdicts",
        what: "paired runs in ABBA order, gate 2 %, error rate 1 %",
        unit: "",
        fsync: None,
        sides: Vec::new(),
        targets,
        notes: vec![
            format!(
                "{TIMINGS} timings of one program, each the fastest of {REPETITIONS}; in a run of {TURNS} the ratio of a block spreads by {:.2} % (median), neighbours correlate by {:.2}",
                equal.noise * 100.0,
                equal.correlation
            ),
            equal.line("equal programs"),
            slower.line("head 3 % slower"),
        ],
    })
}

/// What came of all runs.
#[derive(Debug, Default)]
struct Tally {
    faster: usize,
    slower: usize,
    same: usize,
    unknown: usize,
    /// Runs on a quiet host, and how many of them were called slower.
    quiet: usize,
    quiet_slower: usize,
    pairs: usize,
    noise: f64,
    correlation: f64,
}

impl Tally {
    fn of(timings: &[f64], injected: f64) -> Result<Self, Failure> {
        let settings = PairedSettings {
            gate: GATE,
            ..PairedSettings::default()
        };
        let mut tally = Self::default();
        let (mut noises, mut correlations) = (Vec::new(), Vec::new());
        for run in 0..RUNS {
            let start = run * (timings.len() - TURNS) / RUNS;
            let turns: Vec<f64> = timings[start..start + TURNS]
                .iter()
                .enumerate()
                .map(|(turn, timing)| match side_of_turn(turn) {
                    Side::Base => *timing,
                    Side::Head => timing * (1.0 + injected),
                })
                .collect();
            let report =
                self_check(&turns, settings).map_err(|error| Failure::Wrong(error.to_string()))?;
            let quiet = report.noise <= NOISE;
            tally.quiet += usize::from(quiet);
            tally.pairs += report.pairs;
            noises.push(report.noise);
            correlations.push(report.correlation);
            match report.verdict {
                Paired::Faster => tally.faster += 1,
                Paired::Slower => {
                    tally.slower += 1;
                    tally.quiet_slower += usize::from(quiet);
                }
                Paired::Same => tally.same += 1,
                Paired::CannotTell => tally.unknown += 1,
            }
        }
        tally.noise = crate::statistics::Summary::of(noises).median;
        tally.correlation = crate::statistics::Summary::of(correlations).median;
        Ok(tally)
    }

    fn share(&self, count: usize) -> f64 {
        let all = self.faster + self.slower + self.same + self.unknown;
        ratio(count, all)
    }

    fn line(&self, name: &str) -> String {
        format!(
            "{name:<16} faster {:>4}  slower {:>4}  same {:>4}  cannot tell {:>4}  {:>5.1} pairs a run",
            self.faster,
            self.slower,
            self.same,
            self.unknown,
            ratio(self.pairs, RUNS)
        )
    }
}

/// One program again and again, on a host that others use too.
fn timings() -> Vec<f64> {
    let mut numbers: Vec<u32> = Vec::with_capacity(NUMBERS);
    (0..TIMINGS)
        .map(|_| {
            let repetitions = (0..REPETITIONS).map(|_| work(&mut numbers));
            repetitions.fold(f64::INFINITY, f64::min)
        })
        .collect()
}

/// How many numbers are sorted in a repetition.
const NUMBERS: usize = 1_024;

/// Work that computes, and reads and writes memory; answers how many microseconds it took.
fn work(numbers: &mut Vec<u32>) -> f64 {
    let watch = Stopwatch::start();
    numbers.clear();
    let mut state: u32 = 12_345;
    for _ in 0..NUMBERS {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        numbers.push(state);
    }
    numbers.sort_unstable();
    // Somebody has to look at the result, or the compiler leaves the work out.
    std::hint::black_box(&numbers);
    watch.elapsed().as_secs_f64() * 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
