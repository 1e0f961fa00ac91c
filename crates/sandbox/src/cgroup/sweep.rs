//! Removing what a killed process of ours left behind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use super::files::write;
use super::group::remove_directory;
use super::hierarchy::Hierarchies;
use super::name;
use crate::Error;

/// Deeper than any host's tree; a bound all the same.
const MAX_DEPTH: usize = 16;

/// More than the busiest group needs.
const MAX_LOOKS: u32 = 1000;

/// Removes the groups, network filters and devices of runs whose process is gone, and ends whatever still lives in them. Returns
/// how many it removed.
/// Everything else of a run dies with its process by itself.
pub fn sweep() -> Result<usize, Error> {
    let mut removed = crate::network::sweep()?;
    for root in Hierarchies::detect()?.roots {
        removed += sweep_below(&root)?;
    }
    Ok(removed)
}

/// Does so for the groups of one tree.
pub(crate) fn sweep_below(root: &Path) -> Result<usize, Error> {
    let mut abandoned = Vec::new();
    find_abandoned(root, 0, &mut abandoned);
    let mut removed = 0;
    for group in &abandoned {
        end_members(group);
        match remove_directory(group) {
            Ok(()) => removed += 1,
            // It waits for a sweep of its owner's.
            Err(error) if is_another_users(&error) => tracing::warn!(
                group = %group.display(),
                "a group that another user's runner has left is still there"
            ),
            Err(error) => {
                let what = format!("cannot remove the group {}", group.display());
                return Err(Error::host(what, error));
            }
        }
    }
    Ok(removed)
}

fn is_another_users(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// A group comes after those below it: only an empty one can be removed.
fn find_abandoned(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if depth > MAX_DEPTH {
        return;
    }
    // A group that vanishes while we look, or that we may not read, is not ours to remove.
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        match entry.file_name().to_str().and_then(name::owner_of) {
            Some(owner) if !owner.is_alive() => {
                find_abandoned(&entry.path(), depth + 1, found);
                found.push(entry.path());
            }
            Some(_) => {}
            None => find_abandoned(&entry.path(), depth + 1, found),
        }
    }
}

/// Ends them again and again where that takes several looks: those who are being born are not among them yet.
fn end_members(group: &Path) {
    if write(group, "cgroup.kill", "1").is_ok() {
        return;
    }
    for _ in 0..MAX_LOOKS {
        let members = fs::read_to_string(group.join("cgroup.procs"))
            .unwrap_or_else(|_: io::Error| String::new());
        let members: Vec<Pid> = members
            .lines()
            .filter_map(|line| line.parse().ok())
            .filter_map(Pid::from_raw)
            .collect();
        if members.is_empty() {
            return;
        }
        for pid in members {
            // A member that ends by itself in the meantime is what we want.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::process::Uid;
    use rustix::thread::set_thread_res_uid;

    use super::*;

    #[test]
    fn a_group_goes_after_those_below_it_and_the_living_keep_theirs() {
        let root = tempfile::tempdir().unwrap();
        // The first process of a host did not start at its first tick, or is none of ours.
        let abandoned = root.path().join("some.slice/kiln-run-1-1-0");
        fs::create_dir_all(abandoned.join("kiln-run-1-1-7")).unwrap();
        let living = root.path().join(name::fresh_name().unwrap());
        fs::create_dir(&living).unwrap();
        assert_eq!(sweep_below(root.path()).unwrap(), 2);
        assert!(!abandoned.exists());
        assert!(living.exists());
    }

    #[test]
    fn what_another_user_has_left_stays_and_is_in_nobodys_way() {
        let root = tempfile::tempdir().unwrap();
        let abandoned = root.path().join("kiln-run-1-1-0");
        fs::create_dir(&abandoned).unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let removed = std::thread::scope(|scope| {
            let ordinary = scope.spawn(|| {
                // Of this thread only. An ordinary user is one already.
                let nobody = Uid::from_raw(65_534);
                let _ = set_thread_res_uid(nobody, nobody, nobody);
                sweep_below(root.path())
            });
            ordinary.join().unwrap()
        });
        assert_eq!(removed.unwrap(), 0);
        assert!(abandoned.exists());
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(sweep_below(root.path()).unwrap(), 1);
    }
}
