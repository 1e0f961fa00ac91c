//! Pressure stall information: how long somebody waited for a resource.

use std::path::Path;

use kiln_model::v0::Pressure;

use crate::kernel_file::KernelFile;

/// Time waited so far, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waited {
    host_wide: bool,
    cpu: u64,
    memory: u64,
    io: u64,
}

/// Where the kernel tells it.
#[derive(Debug)]
pub(crate) struct PressureFiles {
    host_wide: bool,
    cpu: KernelFile,
    memory: KernelFile,
    io: KernelFile,
}

impl PressureFiles {
    /// Of the processes of one v2 group.
    pub(crate) fn of_group(group: &Path) -> Option<Self> {
        let open = |resource| KernelFile::open(group.join(format!("{resource}.pressure"))).ok();
        Some(Self {
            host_wide: false,
            cpu: open("cpu")?,
            memory: open("memory")?,
            io: open("io")?,
        })
    }

    /// Of everybody on this host.
    pub(crate) fn of_host() -> Option<Self> {
        let open = |resource| KernelFile::open(Path::new("/proc/pressure").join(resource)).ok();
        Some(Self {
            host_wide: true,
            cpu: open("cpu")?,
            memory: open("memory")?,
            io: open("io")?,
        })
    }

    pub(crate) fn so_far(&self) -> Option<Waited> {
        Some(Waited {
            host_wide: self.host_wide,
            cpu: total(&self.cpu)?,
            memory: total(&self.memory)?,
            io: total(&self.io)?,
        })
    }
}

impl Waited {
    pub(crate) fn since(self, earlier: Self) -> Pressure {
        Pressure {
            host_wide: self.host_wide,
            cpu_us: self.cpu.saturating_sub(earlier.cpu),
            memory_us: self.memory.saturating_sub(earlier.memory),
            io_us: self.io.saturating_sub(earlier.io),
        }
    }
}

fn total(file: &KernelFile) -> Option<u64> {
    parse(&file.read().ok()?)
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`
fn parse(text: &str) -> Option<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.rsplit_once("total=")?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TEXT: &str = "some avg10=1.00 avg60=2.00 avg300=3.00 total=4567\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=89\n";

    #[test]
    fn the_time_that_some_waited_counts() {
        assert_eq!(parse(TEXT), Some(4567));
    }

    #[test]
    fn a_group_tells_its_own_and_only_if_it_tells_all() {
        let group = tempfile::tempdir().unwrap();
        for resource in ["cpu", "memory"] {
            fs::write(group.path().join(format!("{resource}.pressure")), TEXT).unwrap();
        }
        assert!(PressureFiles::of_group(group.path()).is_none());
        fs::write(group.path().join("io.pressure"), TEXT).unwrap();
        let files = PressureFiles::of_group(group.path()).unwrap();
        let waited = files.so_far().unwrap();
        let later = Waited {
            cpu: 5000,
            ..waited
        };
        assert_eq!(
            later.since(waited),
            Pressure {
                cpu_us: 433,
                ..Pressure::default()
            }
        );
    }
}
