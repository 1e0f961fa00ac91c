//! All the processes that a command may have started.

use std::fs;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

use crate::sys;

/// Where they are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Herd {
    /// In this process namespace, whose first process we are.
    Namespace,
    /// Below us, who adopt every orphan of theirs.
    Descendants,
}

impl Herd {
    pub(crate) fn signal(self, signal: Signal) {
        match self {
            Self::Namespace => sys::kill_everyone(signal),
            Self::Descendants => {
                for process in descendants() {
                    // One that has ended in the meantime is what we want.
                    let _ = kill_process(process, signal);
                }
            }
        }
    }

    /// Ends what is left of them.
    pub(crate) fn end(self) {
        loop {
            self.signal(Signal::KILL);
            // Whose parent has just ended is a child of ours from now on. The only error is that no child is left.
            if wait(WaitOptions::empty()).is_err() {
                return;
            }
        }
    }
}

fn descendants() -> Vec<Pid> {
    let mut found = children_of(rustix::process::getpid());
    let mut next = 0;
    while let Some(process) = found.get(next).copied() {
        found.extend(children_of(process));
        next += 1;
    }
    found
}

/// Empty for a process that is gone. Ours has one thread; others may have many.
fn children_of(process: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()));
    threads
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|line| {
            let ids = line.split_ascii_whitespace().map(str::parse);
            ids.flatten().filter_map(Pid::from_raw).collect::<Vec<_>>()
        })
        .collect()
}
