//! What disturbs this host and cannot be changed from here.

use super::files::HostFiles;

/// One sentence for each, with what could be done about it.
pub fn warnings() -> Vec<String> {
    of(&HostFiles::new("/"))
}

pub(super) fn of(files: &HostFiles) -> Vec<String> {
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
    warnings
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

    fn host(cpuinfo: &str, cmdline: &str, program: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        fs::create_dir_all(proc.join("77")).unwrap();
        fs::write(proc.join("cpuinfo"), cpuinfo).unwrap();
        fs::write(proc.join("cmdline"), cmdline).unwrap();
        fs::write(proc.join("77/comm"), program).unwrap();
        root
    }

    #[test]
    fn a_well_kept_host_gives_no_warning() {
        let root = host("flags : fpu vme\n", "isolcpus=1 nohz_full=1\n", "sshd\n");
        assert_eq!(of(&HostFiles::new(root.path())), Vec::<String>::new());
    }

    #[test]
    fn each_trouble_has_a_warning_of_its_own() {
        let root = host("flags : fpu hypervisor\n", "quiet\n", "irqbalance\n");
        assert_eq!(of(&HostFiles::new(root.path())).len(), 3);
    }
}
