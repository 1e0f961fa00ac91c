//! How fast the CPUs are clocked.

use std::path::{Path, PathBuf};

use kiln_model::v0::Frequency;

use super::parse_list;
use crate::kernel_file::read_once;

const CPUS: &str = "/sys/devices/system/cpu";

/// Where the kernel tells it, of each CPU that is online. They are not open: a host may have hundreds.
#[derive(Debug)]
pub(crate) struct Clocks(Vec<PathBuf>);

impl Clocks {
    pub(crate) fn find() -> Self {
        Self::below(Path::new(CPUS))
    }

    fn below(cpus: &Path) -> Self {
        let online = read_once(cpus.join("online")).unwrap_or_default();
        let clock = |cpu| cpus.join(format!("cpu{cpu}/cpufreq/scaling_cur_freq"));
        let clocks = parse_list(&online).into_iter().map(clock);
        Self(clocks.filter(|clock| clock.exists()).collect())
    }

    /// Of the slowest and the fastest CPU, where the host tells.
    pub(crate) fn frequency(&self) -> Option<Frequency> {
        let clocks: Vec<u64> = self
            .0
            .iter()
            .filter_map(|clock| read_once(clock).ok()?.trim().parse().ok())
            .collect();
        Some(Frequency {
            lowest_khz: *clocks.iter().min()?,
            highest_khz: *clocks.iter().max()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_slowest_and_the_fastest_are_told() {
        let cpus = tempfile::tempdir().unwrap();
        fs::write(cpus.path().join("online"), "0-1\n").unwrap();
        assert_eq!(Clocks::below(cpus.path()).frequency(), None);
        for (cpu, clock) in [(0, "2100000\n"), (1, "3400000\n")] {
            let directory = cpus.path().join(format!("cpu{cpu}/cpufreq"));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("scaling_cur_freq"), clock).unwrap();
        }
        assert_eq!(
            Clocks::below(cpus.path()).frequency(),
            Some(Frequency {
                lowest_khz: 2_100_000,
                highest_khz: 3_400_000
            })
        );
    }
}
