//! Measuring how still a host is: the same small piece of work, again and again.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use kiln_guest_init::noise::Rounds;
use kiln_model::v0::NoiseProbe;

use super::cores::pin_this_thread;
use crate::cgroup::{Group, Hierarchies};
use crate::surroundings::Steal;
use crate::{ChamberSpec, Error, Missing, guest};

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

/// Measures on the first of these cores, or anywhere if none is given. Where these cores are a partition of their own, only
/// who is in its group can be on them.
pub fn probe(length: ProbeLength, cores: &[u32], partition: Option<&Path>) -> NoiseProbe {
    let core = cores.first().copied();
    let steal = Steal::open().and_then(|steal| Some((steal.so_far()?, steal)));
    let inside = partition.and_then(|partition| measure_inside(length.span(), core, partition));
    let rounds = inside.unwrap_or_else(|| measure_on(length.span(), core));
    let steal = steal.and_then(|(before, steal)| steal.so_far()?.checked_sub(before));
    NoiseProbe {
        involuntary_switches: rounds.involuntary_switches,
        steal_us: steal.map(|span| u64::try_from(span.as_micros()).unwrap_or(u64::MAX)),
        ..summary(rounds.nanos)
    }
}

/// Measures on a thread of its own.
fn measure_on(span: Duration, core: Option<u32>) -> Rounds {
    let thread = std::thread::spawn(move || {
        // Without its core it measures wherever it is, which is what a job would get too.
        let _ = core.map(|core| pin_this_thread(&[core]));
        Rounds::measure(span)
    });
    thread.join().unwrap_or_default()
}

/// Measures in a process of its own, which is in a group of the partition as those of jobs are.
fn measure_inside(span: Duration, core: Option<u32>, partition: &Path) -> Option<Rounds> {
    let measured = measure_in_group(span, core, partition);
    if let Err(error) = &measured {
        tracing::warn!(
            error = error as &dyn std::error::Error,
            "noise is measured beside the benchmark cores"
        );
    }
    measured.ok()
}

fn measure_in_group(span: Duration, core: Option<u32>, partition: &Path) -> Result<Rounds, Error> {
    let any_limits = ChamberSpec {
        missing_limits: Missing::Accept,
        ..ChamberSpec::default()
    };
    let group = Group::create(&Hierarchies::detect_below(Some(partition))?, &any_limits)?;
    let entrances = group.entrances().into_iter();
    let output = guest::command("noise")?
        .arg(span.as_millis().to_string())
        .args(entrances.map(|entrance| format!("group={entrance}")))
        .args(core.map(|core| format!("core={core}")))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::host("cannot start the guest program", error))?;
    group.remove()?;
    Rounds::from_bytes(&output.stdout)
        .filter(|_| output.status.success())
        .ok_or_else(|| {
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            Error::host("cannot measure noise", io::Error::other(complaint))
        })
}

fn summary(mut rounds: Vec<u64>) -> NoiseProbe {
    rounds.sort_unstable();
    let Some(worst) = rounds.last() else {
        return NoiseProbe::default();
    };
    let at = |share: usize| rounds[(rounds.len() - 1) * share / 100];
    let median = at(50).max(1);
    let ppm = |span: u64| span.saturating_mul(1_000_000) / median;
    let spread_ppm = ppm(at(75) - at(25));
    let tail_ppm = ppm(at(99).saturating_sub(median));
    NoiseProbe {
        rounds: u32::try_from(rounds.len()).unwrap_or(u32::MAX),
        median_ns: median,
        spread_ppm,
        tail_ppm,
        worst_ns: *worst,
        score: score(spread_ppm, tail_ppm),
        ..NoiseProbe::default()
    }
}

/// One per cent of spread costs 20 of 60 points, ten per cent in the tail 20 of 40.
fn score(spread_ppm: u64, tail_ppm: u64) -> u8 {
    let lost = (spread_ppm / 500).min(60) + (tail_ppm / 5_000).min(40);
    u8::try_from(100 - lost).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(nanos: impl IntoIterator<Item = u64>) -> NoiseProbe {
        summary(nanos.into_iter().collect())
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
        let probe = probe(ProbeLength::Short, &[], None);
        assert!(probe.rounds > 0, "{probe:?}");
        assert!(probe.median_ns > 1_000, "{probe:?}");
    }
}
