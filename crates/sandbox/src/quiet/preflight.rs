//! What disturbs this host and cannot be changed from here.

use kiln_model::v0::CoreSplit;

use super::files::HostFiles;
use super::interrupts::list;
use crate::surroundings::parse_list;

/// One sentence for each, with what could be done about it, for who has split its cores like this.
pub fn warnings(cores: Option<&CoreSplit>) -> Vec<String> {
    of(&HostFiles::new("/"), cores)
}

fn of(files: &HostFiles, cores: Option<&CoreSplit>) -> Vec<String> {
    let mut warnings = Vec::new();
    let flags = files.read("/proc/cpuinfo").unwrap_or_default();
    let is_virtual = flags
        .lines()
        .filter(|line| line.starts_with("flags") || line.starts_with("Features"))
        .any(|line| {
            line.split_ascii_whitespace()
                .any(|flag| flag == "hypervisor")
        });
    if is_virtual {
        warnings.push("this host is a virtual machine: others share its cores".to_owned());
    }
    if is_running(files, "irqbalance") {
        warnings.push(
            "irqbalance moves interrupts back to benchmark cores: stop it with `systemctl disable --now irqbalance`"
                .to_owned(),
        );
    }
    let boot = files.read("/proc/cmdline").unwrap_or_default();
    let isolates = |option: &str| {
        boot.split_ascii_whitespace()
            .any(|word| word.starts_with(option))
    };
    if !isolates("isolcpus=") && !isolates("nohz_full=") {
        warnings.push(
            "the kernel was started without isolcpus= and nohz_full=: its timer ticks on benchmark cores"
                .to_owned(),
        );
    }
    warnings.extend(cores.and_then(|cores| beside(files, cores)));
    warnings
}

/// Whoever may not use all cores has neighbours that it does not know.
fn beside(files: &HostFiles, cores: &CoreSplit) -> Option<String> {
    let online = parse_list(&files.read("/sys/devices/system/cpu/online").ok()?);
    let ours = [&cores.housekeeping[..], &cores.benchmark].concat();
    let is_all = online.iter().all(|core| ours.contains(core));
    (!is_all).then(|| {
        format!(
            "of this host's {} cores this runner may use {}, which are those that are split: others may be busy on the rest",
            online.len(),
            list(&ours)
        )
    })
}

fn is_running(files: &HostFiles, program: &str) -> bool {
    files.numbered("/proc", "").into_iter().any(|pid| {
        files
            .read(&format!("/proc/{pid}/comm"))
            .is_ok_and(|name| name == program)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A host with two cores.
    fn host(cpuinfo: &str, cmdline: &str, program: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, content: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        put("proc/cpuinfo", cpuinfo);
        put("proc/cmdline", cmdline);
        put("proc/77/comm", program);
        put("sys/devices/system/cpu/online", "0-1\n");
        root
    }

    fn well_kept() -> tempfile::TempDir {
        host("flags : fpu vme\n", "isolcpus=1 nohz_full=1\n", "sshd\n")
    }

    fn split(housekeeping: u32, benchmark: &[u32]) -> CoreSplit {
        CoreSplit {
            housekeeping: vec![housekeeping],
            benchmark: benchmark.to_vec(),
        }
    }

    #[test]
    fn a_well_kept_host_gives_no_warning() {
        let root = well_kept();
        let warnings = of(&HostFiles::new(root.path()), Some(&split(0, &[1])));
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn each_trouble_has_a_warning_of_its_own() {
        let root = host("flags : fpu hypervisor\n", "quiet\n", "irqbalance\n");
        assert_eq!(of(&HostFiles::new(root.path()), None).len(), 3);
    }

    #[test]
    fn who_may_not_use_every_core_is_told_which_are_split() {
        let root = well_kept();
        fs::write(root.path().join("sys/devices/system/cpu/online"), "0-7\n").unwrap();
        let [warning] = of(&HostFiles::new(root.path()), Some(&split(4, &[5, 7])))
            .try_into()
            .unwrap();
        assert!(
            warning.contains("8 cores this runner may use 4,5,7,"),
            "{warning}"
        );
    }
}
