//! Standing in for a slower disk: this program starts itself again with a shim that delays every fsync.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::aside;
use crate::failure::Failure;

/// Set for, and only for, the second start.
const VARIABLE: &str = "KILN_BENCH_SLOW_FSYNC_MS";

/// Returns at once when no delay is asked for, or when it is in place already.
pub(crate) fn ensure(delay_ms: Option<f64>) -> Result<(), Failure> {
    let Some(delay_ms) = delay_ms else {
        return Ok(());
    };
    if std::env::var_os(VARIABLE).is_some() {
        return Ok(());
    }
    let shim = aside::build("shims/slow-fsync")?.join("libkiln_bench_slow_fsync.so");
    let own = std::env::current_exe().map_err(|source| Failure::io("find this program", source))?;
    let failed = Command::new(own)
        .args(std::env::args_os().skip(1))
        .env("LD_PRELOAD", shim)
        .env(VARIABLE, delay_ms.to_string())
        .exec();
    Err(Failure::io("start this program again", failed))
}
