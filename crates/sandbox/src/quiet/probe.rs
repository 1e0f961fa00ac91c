//! Measuring how still a host is: the same small piece of work, again and again.

use std::fs;
use std::hint::black_box;
use std::time::Duration;

use kiln_model::v0::NoiseProbe;

use super::cores::pin_this_thread;
use super::stopwatch::Stopwatch;
use crate::surroundings::stolen;

/// Long enough that reading the clock does not count, short enough that most rounds meet nobody.
const ROUND: Duration = Duration::from_micros(15);

/// How long to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeLength {
    /// Before and after each benchmark, where it is overhead.
    Short,
    /// When somebody wants to know.
    Thorough,
}

impl ProbeLength {
    const fn span(self) -> Duration {
        match self {
            Self::Short => Duration::from_millis(3),
            Self::Thorough => Duration::from_secs(3),
        }
    }
}

/// Measures on a thread of its own, on the first of these cores, or anywhere if none is given.
pub fn probe(length: ProbeLength, cores: &[u32]) -> NoiseProbe {
    let core = cores.first().copied();
    let thread = std::thread::spawn(move || {
        // Without its core it measures wherever it is, which is what a job would get too.
        let _ = core.map(|core| pin_this_thread(&[core]));
        measure(length.span())
    });
    thread.join().unwrap_or_default()
}

fn measure(span: Duration) -> NoiseProbe {
    let steps = calibrate();
    let (steal, switches) = (stolen(), involuntary_switches());
    let mut rounds = Vec::with_capacity(1 << 16);
    let all = Stopwatch::start();
    while all.elapsed() < span {
        let round = Stopwatch::start();
        work(steps);
        rounds.push(round.elapsed());
    }
    let switches = involuntary_switches().saturating_sub(switches);
    let steal = steal.and_then(|before| stolen()?.checked_sub(before));
    NoiseProbe {
        involuntary_switches: switches,
        steal_us: steal.map(|span| u64::try_from(span.as_micros()).unwrap_or(u64::MAX)),
        ..summary(rounds)
    }
}

/// How many steps make a round on this CPU, by its best of several tries.
fn calibrate() -> u64 {
    const STEPS: u64 = 10_000;
    let best = (0..8)
        .map(|_| {
            let stopwatch = Stopwatch::start();
            work(STEPS);
            stopwatch.elapsed()
        })
        .min()
        .unwrap_or(ROUND);
    let nanos = u64::try_from(best.as_nanos()).unwrap_or(u64::MAX).max(1);
    let round = u64::try_from(ROUND.as_nanos()).unwrap_or(u64::MAX);
    (STEPS * round / nanos).max(1)
}

/// Integer arithmetic that depends on itself, so that nothing but the clock and interruptions decide its time.
fn work(steps: u64) {
    let mut value = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..steps {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    black_box(value);
}

fn summary(mut rounds: Vec<Duration>) -> NoiseProbe {
    rounds.sort_unstable();
    let Some(worst) = rounds.last() else {
        return NoiseProbe::default();
    };
    let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    let at = |share: usize| nanos(rounds[(rounds.len() - 1) * share / 100]);
    let median = at(50).max(1);
    let ppm = |span: u64| span.saturating_mul(1_000_000) / median;
    let spread_ppm = ppm(at(75) - at(25));
    let tail_ppm = ppm(at(99).saturating_sub(median));
    NoiseProbe {
        rounds: u32::try_from(rounds.len()).unwrap_or(u32::MAX),
        median_ns: median,
        spread_ppm,
        tail_ppm,
        worst_ns: nanos(*worst),
        score: score(spread_ppm, tail_ppm),
        ..NoiseProbe::default()
    }
}

/// One per cent of spread costs 20 of 60 points, ten per cent in the tail 20 of 40.
fn score(spread_ppm: u64, tail_ppm: u64) -> u8 {
    let lost = (spread_ppm / 500).min(60) + (tail_ppm / 5_000).min(40);
    u8::try_from(100 - lost).unwrap_or(0)
}

fn involuntary_switches() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(nanos: impl IntoIterator<Item = u64>) -> NoiseProbe {
        summary(nanos.into_iter().map(Duration::from_nanos).collect())
    }

    #[test]
    fn a_still_host_has_the_best_score() {
        let still = rounds([20_000; 1_000]);
        assert_eq!((still.spread_ppm, still.tail_ppm, still.score), (0, 0, 100));
    }

    #[test]
    fn rare_long_interruptions_show_in_the_tail_and_not_in_the_spread() {
        let hit = |round| if round % 50 == 0 { 60_000 } else { 20_000 };
        let noisy = rounds((0..1_000).map(hit));
        assert_eq!(noisy.spread_ppm, 0);
        assert_eq!(noisy.tail_ppm, 2_000_000);
        assert_eq!(noisy.score, 60);
    }

    #[test]
    fn a_clock_that_drifts_shows_in_the_spread() {
        let drifting = rounds((0..1_000).map(|round| 20_000 + round));
        assert_eq!(drifting.spread_ppm / 1_000, 24);
        assert!(drifting.score < 60, "{drifting:?}");
    }

    #[test]
    fn nothing_measured_is_no_reason_to_panic() {
        assert_eq!(rounds([]), NoiseProbe::default());
    }

    #[test]
    fn a_real_probe_has_rounds_of_about_the_length_it_wants() {
        let probe = probe(ProbeLength::Short, &[]);
        assert!(probe.rounds > 0, "{probe:?}");
        assert!(probe.median_ns > 1_000, "{probe:?}");
    }
}
