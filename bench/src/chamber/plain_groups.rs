//! crun refuses hosts that have control groups of both versions, so it gets a view without the second.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::failure::Failure;

const UNIFIED: &str = "/sys/fs/cgroup/unified";
const DONE: &str = "KILN_BENCH_PLAIN_GROUPS";

/// Starts this program anew in a mount namespace without the unused v2 tree, on a host that has one beside v1 trees.
pub(crate) fn ensure() -> Result<(), Failure> {
    let is_needed = Path::new(UNIFIED).join("cgroup.procs").exists()
        && rustix::process::geteuid().is_root()
        && std::env::var_os(DONE).is_none();
    if !is_needed {
        return Ok(());
    }
    let own_path = std::env::current_exe().map_err(|source| Failure::io("find itself", source))?;
    let error = Command::new("unshare")
        .args(["--mount", "sh", "-c"])
        .arg(format!("umount {UNIFIED}; exec \"$@\""))
        .arg("sh")
        .arg(own_path)
        .args(std::env::args_os().skip(1))
        .env(DONE, "1")
        .exec();
    Err(Failure::io("run unshare", error))
}
