//! How fast the CPUs are clocked.

use std::path::Path;

use kiln_model::v0::Frequency;

use super::parse_list;
use crate::kernel_file::read_once;

const CPUS: &str = "/sys/devices/system/cpu";

/// Of the slowest and the fastest CPU that is online now, where the host tells.
pub(crate) fn frequency() -> Option<Frequency> {
    of(Path::new(CPUS))
}

fn of(cpus: &Path) -> Option<Frequency> {
    let online = parse_list(&read_once(cpus.join("online")).ok()?);
    let clocks: Vec<u64> = online
        .into_iter()
        .filter_map(|cpu| {
            let file = cpus.join(format!("cpu{cpu}/cpufreq/scaling_cur_freq"));
            read_once(file).ok()?.trim().parse().ok()
        })
        .collect();
    Some(Frequency {
        lowest_khz: *clocks.iter().min()?,
        highest_khz: *clocks.iter().max()?,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_slowest_and_the_fastest_are_told() {
        let cpus = tempfile::tempdir().unwrap();
        fs::write(cpus.path().join("online"), "0-1\n").unwrap();
        assert_eq!(of(cpus.path()), None);
        for (cpu, clock) in [(0, "2100000\n"), (1, "3400000\n")] {
            let directory = cpus.path().join(format!("cpu{cpu}/cpufreq"));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("scaling_cur_freq"), clock).unwrap();
        }
        assert_eq!(
            of(cpus.path()),
            Some(Frequency {
                lowest_khz: 2_100_000,
                highest_khz: 3_400_000
            })
        );
    }
}
