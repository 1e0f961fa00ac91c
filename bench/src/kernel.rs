//! The kernel's poll with a handler that does nothing, in memory and on `SQLite`.

mod inbox;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inbox::Inbox;
use kiln_kernel::{MemoryKv, runner};
use kiln_model::Millis;
use kiln_store::{Store, StoreConfig, SystemClock, SystemEntropy};

use crate::failure::Failure;
use crate::fsync::{Fsync, FsyncTimes};
use crate::report::{Measurement, Side, grouped};
use crate::sample::Sample;
use crate::statistics::Summary;
use crate::target::{Target, Verdict};
use crate::window::{ROUNDS, Window};

/// What the C original does in memory, in messages per CPU second. It was measured by itself, on another day, with
/// claim, dispatch and acknowledgement as separate steps: a number to know, not a comparison within this run.
const C_ORIGINAL: f64 = 430_000.0;
const IN_MEMORY: f64 = 600_000.0;
const OF_THE_BOUND: f64 = 0.6;

/// Messages laid in before they are polled: enough that the tree has some depth, few enough to stay in memory.
const IN_MEMORY_CHUNK: u64 = 64 * 1_024;
const ON_DISK_CHUNK: u64 = 64 * 64;

pub(crate) fn measure_memory(window: Window, say: &dyn Fn(&str)) -> Result<Measurement, Failure> {
    let mut inbox = Inbox::boot(MemoryKv::new(), IN_MEMORY_CHUNK)?;
    let mut samples = Vec::new();
    for number in 1..=ROUNDS {
        say(&format!("kernel in memory: round {number} of {ROUNDS}"));
        inbox.run_for(window.warm_up, cpu, &|| Millis(1), &|| 0)?;
        samples.push(inbox.run_for(window.measured, cpu, &|| Millis(1), &|| 0)?);
    }
    let cpu_rate = |sample: &Sample| sample.cpu_rate().unwrap_or_default();
    let ours = Side::ours("ours: claim, dispatch, apply and ack", &samples, cpu_rate);
    let reached = ours.rate;
    let peer = Side::quoted("peer: the C original, quoted", C_ORIGINAL, &reached);
    Ok(Measurement {
        name: "kernel in memory",
        what: "poll with a no-op handler, batches of 64",
        unit: "messages/CPU s",
        fsync: None,
        sides: vec![ours, peer],
        targets: vec![Target {
            what: "at least 600,000 messages per CPU second".to_owned(),
            verdict: Verdict::at_least(reached.median, IN_MEMORY),
            reached: grouped(reached.median),
        }],
        notes: vec![
            "the C original was measured by itself, on another day; its ratio is for orientation"
                .to_owned(),
        ],
    })
}

pub(crate) fn measure_sqlite(
    place: &Path,
    window: Window,
    say: &dyn Fn(&str),
) -> Result<Measurement, Failure> {
    let clock = Arc::new(SystemClock::new());
    let path = place.join("kernel.db").display().to_string();
    let config = StoreConfig::new(path, clock, Arc::new(SystemEntropy));
    let store = Store::open(&config)?;
    let (now, commits) = (|| store.ledger.now(), || store.ledger.commits());
    let mut inbox = Inbox::boot(store.ledger.clone(), ON_DISK_CHUNK)?;
    let mut rounds = Vec::new();
    let mut probes = vec![Fsync::probe(place)?];
    for number in 1..=ROUNDS {
        say(&format!("kernel on SQLite: round {number} of {ROUNDS}"));
        inbox.run_for(window.warm_up, wall, &now, &commits)?;
        let sample = inbox.run_for(window.measured, wall, &now, &commits)?;
        probes.push(Fsync::probe(place)?);
        let around = Fsync::together(probes.iter().rev().take(2)).times();
        rounds.push((around, sample));
    }
    store.close();
    let samples: Vec<Sample> = rounds.iter().map(|(_, sample)| *sample).collect();
    Ok(Measurement {
        name: "kernel on SQLite",
        what: "poll with a no-op handler, batches of 64; WAL, synchronous=FULL",
        unit: "messages/s",
        fsync: Some(Fsync::together(&probes).times()),
        sides: vec![Side::ours("ours: one runner", &samples, Sample::rate)],
        targets: vec![target_on_disk(&rounds)],
        notes: Vec::new(),
    })
}

fn target_on_disk(rounds: &[(FsyncTimes, Sample)]) -> Target {
    let commits = |sample: &Sample| commits_per_batch(sample).unwrap_or(f64::NAN);
    let bound = |(fsync, sample): &(FsyncTimes, Sample)| fsync.bound(batch(), commits(sample));
    let bounds = Summary::of(rounds.iter().map(bound));
    let share = Summary::of(rounds.iter().map(|round| round.1.rate() / bound(round)));
    let per_batch = Summary::of(rounds.iter().map(|(_, sample)| commits(sample)));
    Target {
        what: "at least 60% of 64 ÷ (commits per batch × fsync time)".to_owned(),
        verdict: Verdict::at_least(share.median, OF_THE_BOUND),
        reached: format!(
            "{:.0}% ({:.0}–{:.0}%) of {} messages/s, with {:.2} commits per batch",
            share.median * 100.0,
            share.lowest * 100.0,
            share.highest * 100.0,
            grouped(bounds.median),
            per_batch.median
        ),
    }
}

fn commits_per_batch(sample: &Sample) -> Option<f64> {
    sample.per_commit().map(|messages| batch() / messages)
}

fn batch() -> f64 {
    f64::from(u8::try_from(runner::BATCH).expect("a batch is small"))
}

/// What a window in memory is measured in.
fn cpu(sample: &Sample) -> Duration {
    sample.cpu.unwrap_or_default()
}

/// What a window on a disk is measured in.
fn wall(sample: &Sample) -> Duration {
    sample.wall
}

#[cfg(test)]
mod tests {
    use kiln_kernel::Kv;

    use super::*;

    fn round(median_ms: f64, operations: u64, commits: u64) -> (FsyncTimes, Sample) {
        let fsync = FsyncTimes {
            median_ms,
            p90_ms: median_ms,
            calls: 1,
        };
        let wall = Duration::from_secs(1);
        let sample = Sample {
            operations,
            commits,
            wall,
            cpu: None,
        };
        (fsync, sample)
    }

    #[test]
    fn two_commits_for_each_full_batch_are_counted_as_two() {
        let (_, sample) = round(5.0, 64 * 50, 100);
        assert!((commits_per_batch(&sample).unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_bound_on_disk_counts_every_commit_of_a_batch() {
        // 64 messages in 2 commits of 5 ms are 6,400 a second at best.
        let target = target_on_disk(&[round(5.0, 4_480, 140)]);
        assert_eq!(target.verdict, Verdict::Met);
        assert_eq!(
            target.reached,
            "70% (70–70%) of 6,400 messages/s, with 2.00 commits per batch"
        );
    }

    #[test]
    fn less_than_the_share_is_a_miss() {
        let target = target_on_disk(&[round(5.0, 3_200, 100)]);
        assert_eq!(target.verdict, Verdict::Missed);
    }

    #[test]
    fn every_message_laid_in_is_polled_and_counted() {
        let mut inbox = Inbox::boot(MemoryKv::new(), 128).unwrap();
        let sample = inbox
            .run_for(Duration::ZERO, wall, &|| Millis(1), &|| 0)
            .unwrap();
        assert_eq!(sample.operations, 128);
        let left = inbox
            .kv()
            .read(|tx| kiln_kernel::inbox::next_seq(tx, inbox::WORKER));
        assert_eq!(left, Ok(0));
    }
}
