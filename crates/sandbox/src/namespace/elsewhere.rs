//! Waking a process on another CPU than ours.
//!
//! Linux likes to wake a process where its waker runs, who will most likely sleep soon. One that goes on working is in the way
//! then, for a millisecond and more, while another CPU has nothing to do.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// While this lives, the process is not woken on the CPU that we ran on.
#[derive(Debug)]
pub(super) struct Elsewhere {
    process: Pid,
    allowed: CpuSet,
}

impl Elsewhere {
    /// None where the process has no other CPU, or is not ours to move. It is advice, and does without.
    pub(super) fn for_process(process: Pid) -> Option<Self> {
        let allowed = sched_getaffinity(Some(process)).ok()?;
        let mut others = allowed;
        others.unset(sched_getcpu());
        if others.count() == 0 {
            return None;
        }
        sched_setaffinity(Some(process), &others).ok()?;
        Some(Self { process, allowed })
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        // Fails only for a process that has ended.
        let _ = sched_setaffinity(Some(self.process), &self.allowed);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_may_run_on_every_cpu_again_afterwards() {
        let mut sleeper = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&sleeper);
        let allowed = sched_getaffinity(Some(pid)).unwrap();
        let elsewhere = Elsewhere::for_process(pid);
        let meanwhile = sched_getaffinity(Some(pid)).unwrap();
        assert_eq!(meanwhile.count(), (allowed.count() - 1).max(1));
        drop(elsewhere);
        assert_eq!(sched_getaffinity(Some(pid)).unwrap(), allowed);
        drop(sleeper.stdin.take());
        sleeper.wait().unwrap();
    }

    #[test]
    fn a_process_with_a_single_cpu_stays_there() {
        let mut sleeper = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&sleeper);
        let allowed = sched_getaffinity(Some(pid)).unwrap();
        for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)) {
            let mut single = CpuSet::new();
            single.set(cpu);
            sched_setaffinity(Some(pid), &single).unwrap();
            let elsewhere = Elsewhere::for_process(pid);
            assert_eq!(sched_getaffinity(Some(pid)).unwrap(), single);
            drop(elsewhere);
        }
        drop(sleeper.stdin.take());
        sleeper.wait().unwrap();
    }
}
