//! CPU time of processes one by one, for hosts that do not count it by groups.

use std::fs;
use std::time::Duration;

use super::steal::TICK;

/// More are not looked at: no chamber has as many, and looking costs time.
const MAX_PROCESSES: usize = 4096;

/// What a process and all that came from it have used, those included that ended and were waited for.
pub(crate) fn cpu_of_tree(root: u32) -> Option<Duration> {
    let mut ticks = cpu_ticks(root)?;
    let mut found = children(root);
    let mut next = 0;
    while let Some(process) = found.get(next).copied() {
        // One that has ended meanwhile is in its parent's figures the next time.
        ticks += cpu_ticks(process).unwrap_or(0);
        if found.len() < MAX_PROCESSES {
            found.extend(children(process));
        }
        next += 1;
    }
    Some(TICK * u32::try_from(ticks).unwrap_or(u32::MAX))
}

fn cpu_ticks(process: u32) -> Option<u64> {
    parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// `pid (name) state …`, where a name may be anything; its own time and that of children it has waited for are the 14th
/// to 17th figures.
fn parse(stat: &str) -> Option<u64> {
    let (_, figures) = stat.rsplit_once(") ")?;
    let mut times = figures.split_ascii_whitespace().skip(11).take(4);
    let mut next = || times.next()?.parse::<u64>().ok();
    Some(next()? + next()? + next()? + next()?)
}

/// Each thread has children of its own.
fn children(process: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            let ids = list
                .split_ascii_whitespace()
                .map(str::parse)
                .map_while(Result::ok);
            ids.collect::<Vec<u32>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_figures() {
        let stat = "7 (a) R 1) S 1 7 7 0 -1 4194304 9 9 9 9 1 20 300 4000 20 0 1 0 55 8 9";
        assert_eq!(parse(stat), Some(4_321));
        assert_eq!(parse("7 (a) S 1 7"), None);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_time() {
        assert_eq!(cpu_of_tree(u32::MAX), None);
    }
}
