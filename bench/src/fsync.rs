//! How long the disk takes to promise something: the yardstick of everything durable.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::failure::Failure;
use crate::statistics::{quantile, sorted};
use crate::stopwatch::Stopwatch;

/// A page and its header, as `SQLite` appends it to its log.
const APPENDED: [u8; 4_096 + 24] = [0x5a; 4_096 + 24];
const AT_LEAST: usize = 20;
const AT_MOST: Duration = Duration::from_millis(200);

/// A file that is appended to and synced, one call at a time.
#[derive(Debug)]
pub(crate) struct Probe {
    path: PathBuf,
    file: File,
    millis: Vec<f64>,
}

impl Probe {
    pub(crate) fn open(directory: &Path) -> Result<Self, Failure> {
        let path = directory.join("fsync-probe");
        let file = File::create(&path).map_err(|source| failed(&path, source))?;
        Ok(Self {
            path,
            file,
            millis: Vec::new(),
        })
    }

    pub(crate) fn call(&mut self) -> Result<(), Failure> {
        let failed = |source| failed(&self.path, source);
        self.file.write_all(&APPENDED).map_err(failed)?;
        let watch = Stopwatch::start();
        self.file.sync_data().map_err(failed)?;
        self.millis.push(watch.elapsed().as_secs_f64() * 1e3);
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Fsync, Failure> {
        std::fs::remove_file(&self.path).map_err(|source| failed(&self.path, source))?;
        Ok(Fsync {
            millis: sorted(self.millis),
        })
    }
}

fn failed(path: &Path, source: std::io::Error) -> Failure {
    Failure::io(format!("append to {}", path.display()), source)
}

/// The times of some fdatasync calls, in milliseconds, shortest first.
#[derive(Clone, Debug)]
pub(crate) struct Fsync {
    millis: Vec<f64>,
}

impl Fsync {
    /// Appends a little to a file in `directory` and syncs it, again and again for a fifth of a second.
    pub(crate) fn probe(directory: &Path) -> Result<Self, Failure> {
        let mut probe = Probe::open(directory)?;
        let whole = Stopwatch::start();
        while probe.millis.len() < AT_LEAST || whole.elapsed() < AT_MOST {
            probe.call()?;
        }
        probe.finish()
    }

    /// All calls of several probes.
    pub(crate) fn together<'a>(probes: impl IntoIterator<Item = &'a Self>) -> Self {
        let millis = probes
            .into_iter()
            .flat_map(|probe| probe.millis.iter().copied());
        Self {
            millis: sorted(millis),
        }
    }

    /// How long such a share of the calls took at most.
    pub(crate) fn quantile_ms(&self, share: f64) -> f64 {
        quantile(&self.millis, share)
    }

    pub(crate) fn times(&self) -> FsyncTimes {
        FsyncTimes {
            median_ms: quantile(&self.millis, 0.5),
            p90_ms: quantile(&self.millis, 0.9),
            calls: self.millis.len(),
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct FsyncTimes {
    pub(crate) median_ms: f64,
    pub(crate) p90_ms: f64,
    pub(crate) calls: usize,
}

impl FsyncTimes {
    /// How many operations a second there are when `operations` share `fsyncs`, and nothing else takes any time.
    pub(crate) fn bound(&self, operations: f64, fsyncs: f64) -> f64 {
        operations / (fsyncs * self.median_ms / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_what_an_infinitely_fast_program_reaches() {
        let times = FsyncTimes {
            median_ms: 5.0,
            p90_ms: 6.0,
            calls: 1,
        };
        assert!((times.bound(64.0, 1.0) - 12_800.0).abs() < 1e-6);
        assert!((times.bound(64.0, 2.0) - 6_400.0).abs() < 1e-6);
    }

    #[test]
    fn probes_are_joined_call_by_call() {
        let one = Fsync {
            millis: vec![1.0, 9.0],
        };
        let two = Fsync { millis: vec![2.0] };
        let times = Fsync::together([&one, &two]).times();
        assert_eq!(times.calls, 3);
        assert!((times.median_ms - 2.0).abs() < 1e-9);
    }
}
