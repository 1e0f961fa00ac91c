//! Programs that are built beside this one, because they cannot be part of its workspace.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Builds a workspace below `bench/` with optimisation, and answers where its results are.
pub(crate) fn build(workspace: &'static str) -> Result<PathBuf, Failure> {
    let unavailable = |why: &str| Failure::Aside {
        workspace,
        why: why.to_owned(),
    };
    let own = std::env::current_exe().map_err(|source| Failure::io("find this program", source))?;
    // Cargo put this program into a directory for its profile, and that into the target directory.
    let target = own
        .ancestors()
        .nth(2)
        .ok_or_else(|| unavailable("this program is not where cargo puts programs"))?
        .join("bench-aside");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--locked", "--target-dir"])
        .arg(&target)
        .current_dir(format!("{HERE}/{workspace}"))
        .status()
        .map_err(|source| Failure::io("run cargo", source))?;
    if !built.success() {
        return Err(unavailable("cargo cannot build it; see above"));
    }
    Ok(target.join("release"))
}
