//! Which cores the system keeps, and which belong to benchmarks alone.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use kiln_model::v0::CoreSplit;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// From this many cores on the system gets two.
const LARGE: usize = 8;

/// How the cores that this thread may use are split; `None` when there is only one.
pub fn core_split() -> Option<CoreSplit> {
    let allowed = usable_cores().ok()?;
    split(&allowed)
}

/// The cores that this thread may run on: those that its group and whoever started it leave to it.
pub fn usable_cores() -> io::Result<Vec<u32>> {
    let allowed = sched_getaffinity(None)?;
    let cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
    Ok(cores.filter_map(|core| u32::try_from(core).ok()).collect())
}

/// Lets this thread, and all it starts from now on, run on these cores only.
pub fn pin_this_thread(cores: &[u32]) -> io::Result<()> {
    pin(None, cores)
}

/// Lets every thread of this process, and all they start from now on, run on these cores only.
pub fn pin_this_process(cores: &[u32]) -> io::Result<()> {
    const THREADS: &str = "/proc/self/task";
    let mut pinned = BTreeSet::new();
    loop {
        let mut is_settled = true;
        for thread in fs::read_dir(THREADS)? {
            let Ok(thread) = thread?.file_name().to_string_lossy().parse::<i32>() else {
                continue;
            };
            // One that was started meanwhile may be of one that was not pinned yet.
            if pinned.insert(thread) {
                is_settled = false;
                match pin(Pid::from_raw(thread), cores) {
                    // It has ended.
                    Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
                    done => done?,
                }
            }
        }
        if is_settled {
            return Ok(());
        }
    }
}

fn pin(thread: Option<Pid>, cores: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(usize::try_from(*core).map_err(io::Error::other)?);
    }
    Ok(sched_setaffinity(thread, &set)?)
}

fn split(cores: &[u32]) -> Option<CoreSplit> {
    let kept = match cores.len() {
        0 | 1 => return None,
        count if count < LARGE => 1,
        _ => 2,
    };
    let (housekeeping, benchmark) = cores.split_at(kept);
    Some(CoreSplit {
        housekeeping: housekeeping.to_vec(),
        benchmark: benchmark.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(count: u32) -> Option<(usize, usize)> {
        let cores: Vec<u32> = (0..count).collect();
        split(&cores).map(|cores| (cores.housekeeping.len(), cores.benchmark.len()))
    }

    #[test]
    fn the_system_keeps_the_lowest_one_or_two() {
        assert_eq!(sizes(1), None);
        assert_eq!(sizes(2), Some((1, 1)));
        assert_eq!(sizes(7), Some((1, 6)));
        assert_eq!(sizes(8), Some((2, 6)));
        let odd = split(&[0, 2, 4]).unwrap();
        assert_eq!((odd.housekeeping, odd.benchmark), (vec![0], vec![2, 4]));
    }

    #[test]
    fn only_cores_that_a_thread_may_use_are_split() {
        std::thread::spawn(|| {
            let all = usable_cores().unwrap();
            assert_eq!(core_split(), split(&all));
            pin_this_thread(&all[..1]).unwrap();
            assert_eq!(usable_cores().unwrap(), all[..1]);
            assert_eq!(core_split(), None);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_stays_where_it_is_pinned() {
        std::thread::spawn(|| {
            let before = sched_getaffinity(None).unwrap();
            let first = (0..CpuSet::MAX_CPU)
                .find(|cpu| before.is_set(*cpu))
                .unwrap();
            pin_this_thread(&[u32::try_from(first).unwrap()]).unwrap();
            let after = sched_getaffinity(None).unwrap();
            assert!(after.is_set(first));
            assert_eq!(after.count(), 1);
        })
        .join()
        .unwrap();
    }
}
