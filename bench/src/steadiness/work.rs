//! The work that is timed: this program itself, which stops its own time and tells it.

use std::fs;
use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::stopwatch::Stopwatch;

/// In the chamber's root.
pub(super) const PROGRAM: &str = "/bin/work";
/// Set in the environment of a process that is to work and not to measure.
pub(super) const ASKED: &str = "KILN_BENCH_WORK";

const STEPS: u64 = 3_000_000;

/// Does the work if that is what this process was started for. Whether it was.
pub(crate) fn answer_if_asked() -> bool {
    if std::env::var_os(ASKED).is_none() {
        return false;
    }
    let watch = Stopwatch::start();
    let mut value = 1_u64;
    for step in 0..STEPS {
        value = black_box(value.rotate_left(7) ^ step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    black_box(value);
    let nanos = watch.elapsed().as_nanos();
    // Whoever asked reads it, or is gone.
    drop(writeln!(std::io::stdout(), "{nanos}"));
    true
}

/// A root file system with this program and its libraries.
pub(super) fn install(root: &Path) -> Result<(), Failure> {
    let failed = |source| Failure::io("copy this program", source);
    let own = std::env::current_exe().map_err(failed)?;
    for directory in ["bin", "proc", "dev", "sys", "tmp"] {
        fs::create_dir_all(root.join(directory)).map_err(failed)?;
    }
    fs::copy(&own, root.join(PROGRAM.trim_start_matches('/'))).map_err(failed)?;
    let listed = Command::new("ldd").arg(&own).output().map_err(failed)?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let words = listed.split_ascii_whitespace();
    for library in words.filter(|word| word.starts_with('/')) {
        let copy = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().unwrap_or(root)).map_err(failed)?;
        fs::copy(library, copy).map_err(failed)?;
    }
    Ok(())
}

/// The same file without a chamber.
pub(super) fn bare(root: &Path) -> Result<f64, Failure> {
    let output = Command::new(root.join(PROGRAM.trim_start_matches('/')))
        .env_clear()
        .env(ASKED, "1")
        .output()
        .map_err(|source| Failure::io("run the work", source))?;
    read(&output.stdout)
}

/// Nanoseconds as they were told, in microseconds.
pub(super) fn read(said: &[u8]) -> Result<f64, Failure> {
    let text = String::from_utf8_lossy(said);
    let nanos: Result<f64, _> = text.trim().parse();
    nanos
        .map(|nanos| nanos / 1e3)
        .map_err(|_| Failure::Wrong(format!("the work said {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_work_says_is_read_in_microseconds() {
        assert!((read(b"1500\n").unwrap() - 1.5).abs() < 1e-12);
        assert!(read(b"").is_err());
    }

    #[test]
    fn a_process_that_was_not_asked_does_not_work() {
        assert!(!answer_if_asked());
    }
}
