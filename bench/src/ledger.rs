//! Many writers on one database: the ledger beside other ways to write the same rows.

mod ours;
mod rusqlite_peer;
mod sqlx_peer;
mod workload;

use std::path::Path;

use crate::failure::Failure;
use crate::fsync::{Fsync, FsyncTimes};
use crate::report::{Measurement, Side, grouped};
use crate::sample::Sample;
use crate::statistics::Summary;
use crate::target::{Target, Verdict};
use crate::window::{ROUNDS, Window};

/// How many threads write, and so how many closures can share a commit at most.
const WRITERS: u16 = 64;
const OF_THE_BOUND: f64 = 0.6;
const CLOSURES_PER_SECOND: f64 = 10_000.0;
/// The promise of so many closures a second is made for disks at least this fast.
const FSYNC_MS: f64 = 5.0;

/// Where the ceiling stands among the sides.
const CEILING: usize = 2;

/// One way to write.
trait Writing {
    fn name(&self) -> &'static str;
    fn run(&mut self, window: Window) -> Result<Sample, Failure>;
}

/// What happened in one round: the disk just before and just after our own turn, and every side's turn.
struct Round {
    fsync: FsyncTimes,
    samples: Vec<Sample>,
}

pub(crate) fn measure(
    place: &Path,
    window: Window,
    say: &dyn Fn(&str),
) -> Result<Measurement, Failure> {
    let mut notes = vec![
        "the peers write from one loop, without contention; \"64 a commit\" is what no waiting writer could have: all of the work known in advance".to_owned(),
    ];
    let mut sides: Vec<Box<dyn Writing>> = vec![
        Box::new(ours::Ours::open(place)?),
        Box::new(rusqlite_peer::RusqlitePeer::open(place, 1)?),
        Box::new(rusqlite_peer::RusqlitePeer::open(place, WRITERS)?),
    ];
    say("ledger: building the sqlx peer");
    match sqlx_peer::build() {
        Ok(program) => {
            for per_commit in [1, WRITERS] {
                let peer = sqlx_peer::SqlxPeer::new(&program, place, per_commit);
                sides.push(Box::new(peer));
            }
        }
        Err(failure) => notes.push(failure.to_string()),
    }
    let mut probes = Vec::new();
    let mut rounds = Vec::new();
    for number in 1..=ROUNDS {
        say(&format!("ledger: round {number} of {ROUNDS}"));
        rounds.push(round(place, window, &mut sides, &mut probes)?);
    }
    let fsync = Fsync::together(&probes).times();
    let samples_of =
        |index: usize| -> Vec<Sample> { rounds.iter().map(|round| round.samples[index]).collect() };
    notes.extend(beyond_the_ceiling(&rounds));
    let ours = samples_of(0);
    let rows = sides.iter().enumerate().map(|(index, side)| match index {
        0 => Side::ours(side.name(), &ours, Sample::rate),
        _ => Side::beside(side.name(), &ours, &samples_of(index)),
    });
    Ok(Measurement {
        name: "ledger",
        what: "insert, claim by order, two guarded updates; SQLite, WAL, synchronous=FULL",
        unit: "closures/s",
        fsync: Some(fsync),
        sides: rows.collect(),
        targets: targets(&rounds, fsync).to_vec(),
        notes,
    })
}

fn round(
    place: &Path,
    window: Window,
    sides: &mut [Box<dyn Writing>],
    probes: &mut Vec<Fsync>,
) -> Result<Round, Failure> {
    let before = Fsync::probe(place)?;
    let mut samples = Vec::new();
    let mut after = None;
    for side in sides {
        samples.push(side.run(window)?);
        if after.is_none() {
            after = Some(Fsync::probe(place)?);
        }
    }
    let around: Vec<Fsync> = [before].into_iter().chain(after).collect();
    let fsync = Fsync::together(&around).times();
    probes.extend(around);
    Ok(Round { fsync, samples })
}

fn targets(rounds: &[Round], fsync: FsyncTimes) -> [Target; 2] {
    let bound = |round: &Round| round.fsync.bound(f64::from(WRITERS), 1.0);
    let rate = |round: &Round| round.samples[0].rate();
    let share = Summary::of(rounds.iter().map(|round| rate(round) / bound(round)));
    let bounds = Summary::of(rounds.iter().map(bound));
    let rates = Summary::of(rounds.iter().map(rate));
    let ratio = Target {
        what: "at least 60% of 64 ÷ fsync time".to_owned(),
        verdict: Verdict::at_least(share.median, OF_THE_BOUND),
        reached: format!(
            "{:.0}% ({:.0}–{:.0}%) of {} closures/s",
            share.median * 100.0,
            share.lowest * 100.0,
            share.highest * 100.0,
            grouped(bounds.median)
        ),
    };
    let absolute = Target {
        what: "at least 10,000 closures/s where an fsync takes 5 ms or less".to_owned(),
        verdict: Verdict::at_least(rates.median, CLOSURES_PER_SECOND)
            .only_if(fsync.median_ms <= FSYNC_MS),
        reached: format!(
            "{} closures/s at {:.2} ms",
            grouped(rates.median),
            fsync.median_ms
        ),
    };
    [ratio, absolute]
}

/// On a fast disk the ratio asks for more than SQLite itself can do; whoever reads a miss should know.
fn beyond_the_ceiling(rounds: &[Round]) -> Option<String> {
    let wanted = |round: &Round| OF_THE_BOUND * round.fsync.bound(f64::from(WRITERS), 1.0);
    let wanted = Summary::of(rounds.iter().map(wanted)).median;
    let ceiling = Summary::of(rounds.iter().map(|round| round.samples[CEILING].rate())).median;
    (wanted > ceiling).then(|| {
        format!(
            "60% of 64 ÷ fsync time is {} closures/s here, more than bare SQLite does in one loop ({}): this disk is too fast for that target to say anything about the ledger; see --slow-fsync",
            grouped(wanted),
            grouped(ceiling)
        )
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn round(median_ms: f64, closures: u64) -> Round {
        Round {
            fsync: FsyncTimes {
                median_ms,
                p90_ms: median_ms,
                calls: 1,
            },
            samples: vec![sample(closures), sample(200), sample(11_000)],
        }
    }

    fn sample(closures: u64) -> Sample {
        Sample {
            operations: closures,
            wall: Duration::from_secs(1),
            ..Sample::default()
        }
    }

    #[track_caller]
    fn check(rounds: &[Round], expected: [Verdict; 2]) {
        let [first, ..] = rounds else { unreachable!() };
        let found = targets(rounds, first.fsync).map(|target| target.verdict);
        assert_eq!(found, expected);
    }

    #[test]
    fn both_targets_are_met_by_a_ledger_that_fills_its_commits() {
        check(&[round(5.0, 11_000)], [Verdict::Met, Verdict::Met]);
    }

    #[test]
    fn half_filled_commits_miss_both() {
        check(&[round(5.0, 6_400)], [Verdict::Missed, Verdict::Missed]);
    }

    #[test]
    fn a_slow_disk_is_held_to_the_ratio_alone() {
        check(&[round(10.0, 5_000)], [Verdict::Met, Verdict::DoesNotApply]);
    }

    #[test]
    fn a_disk_faster_than_sqlite_is_remarked_upon() {
        assert_eq!(beyond_the_ceiling(&[round(5.0, 9_000)]), None);
        assert!(beyond_the_ceiling(&[round(0.5, 9_000)]).is_some());
    }

    #[test]
    fn a_round_is_compared_with_the_disk_of_that_round() {
        let rounds = [round(5.0, 9_000), round(10.0, 4_500), round(20.0, 2_250)];
        let [ratio, _] = targets(&rounds, rounds[0].fsync);
        assert_eq!(ratio.reached, "70% (70–70%) of 6,400 closures/s");
    }
}
