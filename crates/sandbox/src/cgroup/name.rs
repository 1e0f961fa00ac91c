//! Names of groups: they carry who made them, so that a later process knows which ones nobody uses any more.

use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const PREFIX: &str = "kiln-run-";

/// The maker of a group: a process id, and its start time because ids are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pid: u32,
    started: u64,
}

impl Owner {
    pub(crate) fn this_process() -> Option<Self> {
        static SELF: OnceLock<Option<Owner>> = OnceLock::new();
        *SELF.get_or_init(|| {
            let pid = std::process::id();
            Some(Self {
                pid,
                started: start_time(pid)?,
            })
        })
    }

    pub(crate) fn is_alive(self) -> bool {
        start_time(self.pid) == Some(self.started)
    }
}

/// A name that nothing else of ours has on this host.
pub(crate) fn fresh_name() -> Option<String> {
    Owner::this_process().map(fresh)
}

/// Whether this is a name of ours whose process is gone.
pub(crate) fn owner_is_gone(name: &str) -> bool {
    owner_of(name).is_some_and(|owner| !owner.is_alive())
}

/// A name that no other group has.
pub(crate) fn fresh(owner: Owner) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{}-{}-{count}", owner.pid, owner.started)
}

/// Who made the group of this name, if it is one of ours.
pub(crate) fn owner_of(name: &str) -> Option<Owner> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let owner = Owner {
        pid: parts.next()?.parse().ok()?,
        started: parts.next()?.parse().ok()?,
    };
    parts.next()?.parse::<u64>().ok()?;
    parts.next().is_none().then_some(owner)
}

/// When a process started, in the kernel's ticks since boot.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name comes second, in parentheses, and may contain anything; the fields after it may not.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_owner() {
        let owner = Owner::this_process().unwrap();
        assert_eq!(owner_of(&fresh(owner)), Some(owner));
        assert!(owner.is_alive());
    }

    #[test]
    fn a_process_that_reuses_an_id_is_not_the_owner() {
        let owner = Owner::this_process().unwrap();
        let earlier = Owner {
            started: owner.started - 1,
            ..owner
        };
        assert!(!earlier.is_alive());
    }

    #[test]
    fn names_of_others_are_nobodys() {
        for name in [
            "user.slice",
            "kiln-run-",
            "kiln-run-1-2",
            "kiln-run-1-2-3-4",
            "kiln-run-a-2-3",
        ] {
            assert_eq!(owner_of(name), None, "{name}");
        }
    }
}
