use std::fs;

use super::super::cores::{pin_this_thread, usable_cores};
use super::*;

/// A directory that plays a host with these files.
struct FakeHost {
    root: tempfile::TempDir,
    data: tempfile::TempDir,
}

impl FakeHost {
    fn new(files: &[(&str, &str)]) -> Self {
        let host = Self {
            root: tempfile::tempdir().unwrap(),
            data: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(host.root.path().join("run")).unwrap();
        host.put("/proc/sys/kernel/random/boot_id", "this-boot\n");
        for (path, content) in files {
            host.put(path, content);
        }
        host
    }

    fn files(&self) -> HostFiles {
        HostFiles::new(self.root.path())
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.files().path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn get(&self, path: &str) -> String {
        self.files().read(path).unwrap()
    }

    fn tune(&self, plan: &TuningPlan) -> Result<Tuning, TuningError> {
        self.tune_with(plan, || {
            Some(CoreSplit {
                housekeeping: vec![0],
                benchmark: vec![1, 2, 3],
            })
        })
    }

    fn tune_with(
        &self,
        plan: &TuningPlan,
        split: impl FnOnce() -> Option<CoreSplit>,
    ) -> Result<Tuning, TuningError> {
        Tuning::apply_to(self.files(), plan, self.data.path(), split)
    }

    fn journal_exists(&self) -> bool {
        exists(&self.files().path(JOURNAL))
    }
}

impl Tuning {
    /// As a process that is killed does: it lets go of what it holds, and puts nothing back.
    fn die(mut self) {
        drop(self.held.get_mut().unwrap().take());
    }
}

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const ASLR: &str = "/proc/sys/kernel/randomize_va_space";

fn ordinary() -> FakeHost {
    FakeHost::new(&[
        (SWAPPINESS, "60\n"),
        (ASLR, "2\n"),
        (
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave\n",
        ),
        (
            "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
            "ondemand\n",
        ),
    ])
}

fn state(tuning: &Tuning, name: &str) -> KnobState {
    let knob = tuning.knobs().iter().find(|knob| knob.name == name);
    knob.unwrap_or_else(|| panic!("{name} is not told")).state
}

#[test]
fn a_host_is_tuned_and_put_back_as_it_was() {
    let host = ordinary();
    let tuning = host.tune(&TuningPlan::default()).unwrap();
    assert_eq!(host.get(SWAPPINESS), "10");
    assert_eq!(host.get(ASLR), "0");
    assert_eq!(
        host.get("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"),
        "performance"
    );
    assert_eq!(state(&tuning, "swappiness"), KnobState::InEffect);
    assert_eq!(state(&tuning, "governor"), KnobState::InEffect);
    assert_eq!(tuning.cores().unwrap().housekeeping, [0]);
    assert_eq!(tuning.restore().unwrap(), 4);
    assert_eq!(host.get(SWAPPINESS), "60");
    assert_eq!(host.get(ASLR), "2");
    assert_eq!(
        host.get("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"),
        "ondemand"
    );
    assert!(!host.journal_exists());
}

#[test]
fn only_cores_that_the_process_may_use_are_split_on_a_tuned_host() {
    let host = ordinary();
    host.put("/proc/irq/default_smp_affinity", "f\n");
    let cores = std::thread::spawn(move || {
        let usable = usable_cores().unwrap();
        pin_this_thread(&usable[..1]).unwrap();
        let tuning = host.tune_with(&TuningPlan::default(), core_split).unwrap();
        assert_eq!(host.get("/proc/irq/default_smp_affinity"), "f");
        tuning.cores().cloned()
    });
    assert_eq!(cores.join().unwrap(), None);
}

#[test]
fn who_shares_a_tuned_host_puts_it_back_once() {
    let host = ordinary();
    let tuning = host.tune(&TuningPlan::default()).unwrap();
    assert_eq!(tuning.restore().unwrap(), 4);
    let next = host.tune(&TuningPlan::default()).unwrap();
    drop(tuning);
    assert_eq!(host.get(SWAPPINESS), "10");
    assert_eq!(next.restore().unwrap(), 4);
}

#[test]
fn dropping_puts_back_too() {
    let host = ordinary();
    drop(host.tune(&TuningPlan::default()).unwrap());
    assert_eq!(host.get(SWAPPINESS), "60");
}

#[test]
fn a_killed_process_is_undone_by_the_next_which_sees_the_original_values() {
    let host = ordinary();
    host.tune(&TuningPlan::default()).unwrap().die();
    assert_eq!(host.get(SWAPPINESS), "10");
    assert!(host.journal_exists());
    let next = host.tune(&TuningPlan::default()).unwrap();
    let knob = next.knobs().iter().find(|knob| knob.name == "swappiness");
    assert_eq!(knob.unwrap().before.as_deref(), Some("60"));
    next.restore().unwrap();
    assert_eq!(host.get(SWAPPINESS), "60");
}

#[test]
fn a_process_with_another_directory_undoes_a_killed_one_too() {
    let host = ordinary();
    host.tune(&TuningPlan::default()).unwrap().die();
    let elsewhere = tempfile::tempdir().unwrap();
    assert_eq!(undo_on(&host.files(), elsewhere.path()).unwrap(), 4);
    assert_eq!(host.get(SWAPPINESS), "60");
    assert!(!host.journal_exists());
}

#[test]
fn the_journal_of_an_earlier_version_is_undone() {
    let host = ordinary();
    // What a process of this version did later and elsewhere comes off first.
    host.tune(&TuningPlan::default()).unwrap().die();
    let journal = host.data.path().join(EARLIER_JOURNAL);
    fs::write(&journal, "this-boot\n/proc/sys/vm/swappiness\t50\n").unwrap();
    undo_on(&host.files(), host.data.path()).unwrap();
    assert_eq!(host.get(SWAPPINESS), "50");
    assert!(!exists(&journal));
}

#[test]
fn a_setting_the_host_lacks_is_told_as_absent() {
    let host = ordinary();
    let tuning = host.tune(&TuningPlan::default()).unwrap();
    assert_eq!(state(&tuning, "ksm"), KnobState::Absent);
    assert_eq!(state(&tuning, "cstates"), KnobState::Absent);
}

#[test]
fn a_setting_that_reads_back_as_something_else_is_told_as_refused() {
    let host = ordinary();
    // What is written here is never what is read: the host knows better.
    let stubborn = host.files().path("/proc/sys/kernel/nmi_watchdog");
    std::os::unix::fs::symlink("/dev/null", &stubborn).unwrap();
    host.put("/sys/kernel/mm/ksm/run", "1");
    let tuning = host.tune(&TuningPlan::default()).unwrap();
    assert_eq!(state(&tuning, "nmi-watchdog"), KnobState::Refused);
    assert_eq!(state(&tuning, "ksm"), KnobState::InEffect);
}

#[test]
fn what_another_changes_later_is_no_longer_in_effect() {
    let host = ordinary();
    host.put("/proc/irq/default_smp_affinity", "f\n");
    host.put("/proc/irq/7/smp_affinity_list", "0-3\n");
    host.put("/sys/kernel/mm/transparent_hugepage/enabled", "always");
    let tuning = host.tune(&TuningPlan::default()).unwrap();
    assert_eq!(tuning.look(), tuning.knobs());
    // As a daemon that balances interrupts does, and somebody who likes large pages.
    host.put("/proc/irq/7/smp_affinity_list", "2\n");
    let huge = "[always] madvise never\n";
    host.put("/sys/kernel/mm/transparent_hugepage/enabled", huge);
    let changed: Vec<(String, String)> = tuning
        .look()
        .into_iter()
        .filter(|knob| !tuning.knobs().contains(knob))
        .map(|knob| (knob.name, knob.detail))
        .collect();
    let [thp, interrupts] = changed.try_into().unwrap();
    assert_eq!(thp.0, "thp");
    assert!(
        thp.1.ends_with("reads always and no longer never"),
        "{thp:?}"
    );
    assert_eq!(interrupts.0, "interrupts");
    assert!(interrupts.1.starts_with("/proc/irq/7/"), "{interrupts:?}");
}

#[test]
fn what_is_to_be_left_is_left() {
    let host = ordinary();
    let plan = TuningPlan::with_choices(["aslr=leave", "swappiness=1"]).unwrap();
    let _tuning = host.tune(&plan).unwrap();
    assert_eq!(host.get(ASLR), "2");
    assert_eq!(host.get(SWAPPINESS), "1");
}

#[test]
fn a_second_process_does_not_tune_the_same_host() {
    let host = ordinary();
    let _first = host.tune(&TuningPlan::default()).unwrap();
    assert!(matches!(
        host.tune(&TuningPlan::default()),
        Err(TuningError::InUse)
    ));
}

#[test]
fn what_a_living_process_has_changed_is_not_undone() {
    let host = ordinary();
    let living = host.tune(&TuningPlan::default()).unwrap();
    assert!(matches!(
        undo_on(&host.files(), host.data.path()),
        Err(TuningError::InUse)
    ));
    assert_eq!(host.get(SWAPPINESS), "10");
    assert!(host.journal_exists());
    living.restore().unwrap();
    assert_eq!(undo_on(&host.files(), host.data.path()).unwrap(), 0);
}

#[test]
fn the_old_value_is_on_disk_before_the_new_one_is_written() {
    let host = ordinary();
    let _tuning = host.tune(&TuningPlan::default()).unwrap();
    let journal = fs::read_to_string(host.files().path(JOURNAL)).unwrap();
    assert!(journal.starts_with("this-boot\n"));
    assert!(journal.contains("/proc/sys/vm/swappiness\t60\n"));
}

const GROUPS: &str = "/sys/fs/cgroup";

fn groups_of(host: &FakeHost) -> usize {
    let entries = fs::read_dir(host.files().path(GROUPS)).unwrap();
    let is_group = |entry: &fs::DirEntry| entry.path().is_dir();
    entries.flatten().filter(is_group).count()
}

#[test]
fn a_host_without_version_two_groups_has_no_partition() {
    let tuning = ordinary().tune(&TuningPlan::default()).unwrap();
    assert_eq!(state(&tuning, "partition"), KnobState::Absent);
    assert_eq!(tuning.partition(), None);
}

#[test]
fn controllers_that_are_not_handed_down_are_told_with_what_helps() {
    let host = ordinary();
    host.put(&format!("{GROUPS}/cgroup.controllers"), "cpuset cpu\n");
    host.put(
        &format!("{GROUPS}/cgroup.subtree_control"),
        "cpu memory pids\n",
    );
    let tuning = host.tune(&TuningPlan::default()).unwrap();
    let knob = tuning.knobs().iter().find(|knob| knob.name == "partition");
    let knob = knob.unwrap();
    assert_eq!(knob.state, KnobState::Refused);
    let fix = "echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control";
    assert!(knob.detail.contains(fix), "{knob:?}");
    assert_eq!(groups_of(&host), 0);
}

#[test]
fn a_partition_that_cannot_be_made_leaves_no_group() {
    let host = ordinary();
    let all = "cpuset cpu memory pids\n";
    host.put(&format!("{GROUPS}/cgroup.controllers"), all);
    host.put(&format!("{GROUPS}/cgroup.subtree_control"), all);
    // A directory of an ordinary file system gets no control files.
    let tuning = host.tune(&TuningPlan::default()).unwrap();
    assert_eq!(state(&tuning, "partition"), KnobState::Refused);
    assert_eq!(tuning.partition(), None);
    assert_eq!(groups_of(&host), 0);
}
