//! Which cores the system keeps, and which belong to benchmarks alone.

use std::io;
use std::path::Path;

use kiln_model::v0::CoreSplit;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::files::HostFiles;
use crate::surroundings::parse_list;

/// From this many cores on the system gets two.
const LARGE: usize = 8;

/// How this host's cores are split; `None` when there is only one.
pub fn core_split() -> Option<CoreSplit> {
    of(&HostFiles::new(Path::new("/")))
}

/// Lets this thread, and all it starts from now on, run on these cores only.
pub fn pin_this_thread(cores: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(usize::try_from(*core).map_err(io::Error::other)?);
    }
    Ok(sched_setaffinity(None, &set)?)
}

pub(super) fn of(files: &HostFiles) -> Option<CoreSplit> {
    let online = parse_list(&files.read("/sys/devices/system/cpu/online").ok()?);
    split(&online)
}

fn split(online: &[u32]) -> Option<CoreSplit> {
    let kept = match online.len() {
        0 | 1 => return None,
        count if count < LARGE => 1,
        _ => 2,
    };
    let (housekeeping, benchmark) = online.split_at(kept);
    Some(CoreSplit {
        housekeeping: housekeeping.to_vec(),
        benchmark: benchmark.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(count: u32) -> Option<(usize, usize)> {
        let online: Vec<u32> = (0..count).collect();
        split(&online).map(|cores| (cores.housekeeping.len(), cores.benchmark.len()))
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
    fn a_thread_stays_where_it_is_pinned() {
        std::thread::spawn(|| {
            let before = rustix::thread::sched_getaffinity(None).unwrap();
            let first = (0..CpuSet::MAX_CPU)
                .find(|cpu| before.is_set(*cpu))
                .unwrap();
            pin_this_thread(&[u32::try_from(first).unwrap()]).unwrap();
            let after = rustix::thread::sched_getaffinity(None).unwrap();
            assert!(after.is_set(first));
            assert_eq!(after.count(), 1);
        })
        .join()
        .unwrap();
    }
}
