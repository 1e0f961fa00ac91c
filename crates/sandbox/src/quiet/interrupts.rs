//! Where interrupts and the kernel's own work go: to the housekeeping cores.

use super::files::HostFiles;
use super::watched::Same;
use crate::surroundings::parse_list;

/// A file and what to write to it.
#[derive(Debug)]
pub(super) struct Steering {
    pub(super) file: String,
    pub(super) value: String,
    /// How the kernel's words are compared with ours.
    pub(super) same: Same,
    /// Some interrupts belong to one CPU and cannot be moved; that is no fault.
    pub(super) may_refuse: bool,
}

/// How to steer everything that can be steered.
pub(super) fn steering(files: &HostFiles, housekeeping: &[u32]) -> Vec<Steering> {
    let mask = mask(housekeeping);
    let list = list(housekeeping);
    let mut steering = vec![
        Steering {
            file: "/proc/irq/default_smp_affinity".to_owned(),
            value: mask.clone(),
            same: same_mask,
            may_refuse: false,
        },
        Steering {
            file: "/sys/devices/virtual/workqueue/cpumask".to_owned(),
            value: mask,
            same: same_mask,
            may_refuse: false,
        },
    ];
    steering.extend(
        files
            .numbered("/proc/irq", "")
            .into_iter()
            .map(|irq| Steering {
                file: format!("/proc/irq/{irq}/smp_affinity_list"),
                value: list.clone(),
                same: same_list,
                may_refuse: true,
            }),
    );
    steering
}

/// Hexadecimal words of 32 CPUs, highest first.
fn mask(cpus: &[u32]) -> String {
    let highest = cpus.iter().max().map_or(0, |cpu| cpu / 32);
    let words: Vec<String> = (0..=highest)
        .rev()
        .map(|word| {
            let bits = cpus.iter().filter(|cpu| *cpu / 32 == word);
            let bits = bits.fold(0_u32, |mask, cpu| mask | 1 << (cpu % 32));
            if word == highest {
                format!("{bits:x}")
            } else {
                format!("{bits:08x}")
            }
        })
        .collect();
    words.join(",")
}

pub(super) fn list(cpus: &[u32]) -> String {
    let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    cpus.join(",")
}

/// Whether a mask read back means the same as one that was written: the kernel pads it with zeros.
pub(super) fn same_mask(left: &str, right: &str) -> bool {
    let bare = |mask: &str| {
        let digits = mask.replace(',', "");
        digits.trim_start_matches('0').to_ascii_lowercase()
    };
    bare(left) == bare(right)
}

/// Whether lists name the same cores: the kernel writes those that follow each other as a range.
pub(super) fn same_list(left: &str, right: &str) -> bool {
    parse_list(left) == parse_list(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_the_same_as_its_cores() {
        assert!(same_list("0-1,4", "0,1,4"));
        assert!(!same_list("0-1", "0,2"));
    }

    #[test]
    fn masks_are_written_in_words_of_32_cpus() {
        assert_eq!(mask(&[0, 1]), "3");
        assert_eq!(mask(&[4]), "10");
        assert_eq!(mask(&[0, 32]), "1,00000001");
    }

    #[test]
    fn a_padded_mask_is_the_same() {
        assert!(same_mask("00000000,00000003", "3"));
        assert!(!same_mask("00000000,00000002", "3"));
    }

    #[test]
    fn every_interrupt_is_steered() {
        let root = tempfile::tempdir().unwrap();
        for irq in ["1", "12"] {
            std::fs::create_dir_all(root.path().join("proc/irq").join(irq)).unwrap();
        }
        let steering = steering(&HostFiles::new(root.path()), &[0, 1]);
        let files: Vec<&str> = steering.iter().map(|one| one.file.as_str()).collect();
        assert!(files.contains(&"/proc/irq/12/smp_affinity_list"));
        assert_eq!(files.len(), 4);
    }
}
