//! A machine that plays the bare-metal host: control groups of version 2, swap, and knobs that nobody else needs. The
//! tests of limits run in it again, and tuning is tried on its kernel.
//!
//! The machine is emulated, has a disk for what commands write, and this test program is what it runs.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::thread;

use kiln_model::v0::KnobState;
use kiln_sandbox::quiet::{ProbeLength, Tuning, TuningPlan, pin_this_thread, probe, undo};
use kiln_sandbox::{ChamberSpec, GuestKernel, Outcome, sweep};

use crate::base::{PLACE, base};
use crate::host_machine::{self, archive, copy_libraries, copy_modules, run, write_program};
use crate::support::{limits, shell, spec, try_run};

const ROLE: &str = "KILN_TEST_ROLE";

/// What the machine says when everything went well.
const WELL: &str = "the bare-metal host is well";

/// What the machine says now and then as long as it lives, whatever its tests do.
const ALIVE: &str = "the bare-metal host is alive";

/// Of the machine's disk.
const DISK_BYTES: u64 = 2 << 30;

/// From the kernel's initial root, which no chamber could leave, to one in memory with a group of our own, as a service
/// manager would delegate it.
const INIT: &str = "#!/bin/busybox sh
export PATH=/bin
/bin/busybox mkdir /new
/bin/busybox mount -t tmpfs -o mode=755,size=80% root /new
/bin/busybox cp -a /bin /lib /lib64 /place /modules /start /new/
exec /bin/busybox switch_root /new /start
";

const START: &str = "#!/bin/busybox sh
export PATH=/bin HOME=/ KILN_TEST_BASE_PLACE=/place RUST_BACKTRACE=0
mkdir -p /proc /sys /dev /run /tmp /swap /var/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t cgroup2 groups /sys/fs/cgroup
for module in overlay loop; do insmod /modules/$module.ko; done
mke2fs /dev/nvme0n1 >/dev/null && mount -t ext4 /dev/nvme0n1 /var/tmp
dd if=/dev/zero of=/swap/file bs=1M count=128 2>/dev/null
losetup /dev/loop0 /swap/file && mkswap /dev/loop0 >/dev/null && swapon /dev/loop0
echo '+cpu +memory +pids +cpuset' > /sys/fs/cgroup/cgroup.subtree_control
cd /tmp
# The kernel writes its own log to the console without waiting for interrupts, which emulated serial lines have been seen to lose.
say() { while read -r line; do echo \"<2>${line:0:900}\" > /dev/kmsg; done; }
live() {
    times=0
    while sleep 20; do
        echo 'ALIVE_WORDS'
        times=$((times + 1))
        [ $times = 18 ] && witness
    done
}
witness() {
    for process in /proc/[0-9]*; do
        echo \"$process $(cat $process/comm) waits in $(cat $process/wchan)\"
    done
}
service() {
    mkdir /sys/fs/cgroup/$1
    sh -c 'echo $$ > /sys/fs/cgroup/$1/cgroup.procs; shift; exec /bin/tests \"$@\"' sh \"$@\"
}
all() {
    service tests.service --test-threads=2 bounds:: leftovers:: disk::more_can disk::each_run && \\
    KILN_TEST_ROLE='bare-metal host' service kiln.service --nocapture --exact bare_metal::plays_a_bare_metal_host
    echo ended with $?
}
live | say &
all 2>&1 | say
poweroff -f
";

#[test]
fn limits_and_tuning_hold_on_a_bare_metal_host_with_version_two_groups() {
    let kernel = host_machine::kernel();
    let directory = tempfile::tempdir().unwrap();
    let initramfs = pack(directory.path(), &kernel);
    let disk = directory.path().join("disk");
    fs::File::create(&disk)
        .unwrap()
        .set_len(DISK_BYTES)
        .unwrap();
    let said = host_machine::live(&kernel, &initramfs, Some(&disk));
    assert!(said.contains(WELL), "{said}");
    assert!(said.contains("test result: ok."), "{said}");
}

/// The other half of the test: does nothing unless the machine starts this program with a role.
#[test]
fn plays_a_bare_metal_host() {
    match std::env::var(ROLE).as_deref() {
        Ok("bare-metal host") => live_on_bare_metal(),
        Ok("killed tuner") => tune_until_killed(),
        _ => {}
    }
}

fn live_on_bare_metal() {
    every_limit_is_a_group_of_version_two();
    a_share_of_the_processors_is_kept_to();
    a_tuned_host_is_put_back();
    the_benchmark_cores_belong_to_runs_alone();
    a_job_that_needs_every_core_has_them();
    the_strongest_partition_that_there_is_is_taken();
    a_killed_tuner_is_undone();
    println!("{WELL}");
}

fn every_limit_is_a_group_of_version_two() {
    let exit = try_run(&shell("true"), &spec(), &limits()).unwrap().exit;
    for name in ["memory", "swap", "cpu", "pids"] {
        let layer = exit.sealed.layer(name).unwrap();
        assert!(layer.applied, "{layer:?}");
    }
    // The swap is there, so that its limit is one.
    assert!(fs::read_to_string("/proc/swaps").unwrap().lines().count() > 1);
    assert_eq!(exit.sealed.layer("swap").unwrap().detail, "0 bytes");
    assert!(exit.usage.peak_memory_bytes.is_some(), "{exit:?}");
    assert!(exit.usage.chamber_cpu.is_some(), "{exit:?}");
    assert!(exit.usage.pressure.is_some(), "{exit:?}");
}

fn a_share_of_the_processors_is_kept_to() {
    let spec = ChamberSpec { cpus: 1, ..spec() };
    let script = "work() { i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; }; work & work; wait";
    let exit = try_run(&shell(script), &spec, &limits()).unwrap().exit;
    assert!(
        exit.usage.throttled.is_some_and(|time| !time.is_zero()),
        "{exit:?}"
    );
}

/// What tuning changes on this kernel, without what it has not.
fn settings() -> Vec<(String, String)> {
    let files = [
        "/proc/sys/kernel/randomize_va_space",
        "/proc/sys/kernel/nmi_watchdog",
        "/proc/sys/kernel/soft_watchdog",
        "/proc/sys/vm/swappiness",
        "/proc/sys/kernel/perf_event_paranoid",
        "/proc/sys/kernel/numa_balancing",
        "/proc/sys/kernel/timer_migration",
        "/sys/kernel/mm/ksm/run",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/kernel/mm/transparent_hugepage/defrag",
        "/sys/devices/virtual/workqueue/cpumask",
        "/proc/irq/default_smp_affinity",
        // The cores that are not in a partition.
        "/sys/fs/cgroup/cpuset.cpus.effective",
    ];
    files
        .into_iter()
        .filter_map(|file| Some((file.to_owned(), fs::read_to_string(file).ok()?)))
        .collect()
}

fn a_tuned_host_is_put_back() {
    let before = settings();
    let journal = tempfile::tempdir().unwrap();
    let tuning = Tuning::apply(&TuningPlan::default(), journal.path()).unwrap();
    for name in [
        "aslr",
        "swappiness",
        "thp",
        "timer-migration",
        "interrupts",
        "partition",
    ] {
        let knob = tuning.knobs().iter().find(|knob| knob.name == name);
        let knob = knob.unwrap();
        assert_eq!(knob.state, KnobState::InEffect, "{knob:?}");
    }
    assert_eq!(tuning.cores().unwrap().benchmark, [1]);
    let aslr = fs::read_to_string("/proc/sys/kernel/randomize_va_space").unwrap();
    assert_eq!(aslr, "0\n");
    assert_ne!(settings(), before);
    drop(tuning);
    assert_eq!(settings(), before);
    assert_eq!(fs::read_dir(journal.path()).unwrap().count(), 0);
}

fn the_benchmark_cores_belong_to_runs_alone() {
    let journal = tempfile::tempdir().unwrap();
    let tuning = Tuning::apply(&TuningPlan::default(), journal.path()).unwrap();
    let partition = tuning.partition().unwrap();
    let kind = fs::read_to_string(partition.join("cpuset.cpus.partition")).unwrap();
    assert_eq!(kind, "isolated\n");
    assert!(can_be_on(0));
    assert!(!can_be_on(1), "this process is in no partition");
    let spec = ChamberSpec {
        cores: vec![1],
        partition: Some(partition.clone()),
        ..spec()
    };
    let script = "grep Cpus_allowed_list /proc/self/status | tr -s '\\t' ' '";
    let finished = try_run(&shell(script), &spec, &limits()).unwrap();
    assert_eq!(finished.stdout, "Cpus_allowed_list: 1\n");
    for name in ["memory", "swap", "cpu", "pids"] {
        let layer = finished.exit.sealed.layer(name).unwrap();
        assert!(layer.applied, "{layer:?}");
    }
    let (before, noise) = (
        worked_on_core_one(),
        probe(ProbeLength::Thorough, &[1], Some(&partition)),
    );
    assert!(noise.rounds > 0, "{noise:?}");
    // A second of the three that it takes, and nobody else is there.
    assert!(worked_on_core_one() >= before + 100, "{noise:?}");
    tuning.restore().unwrap();
    assert!(!partition.exists());
    assert!(can_be_on(1));
}

fn a_job_that_needs_every_core_has_them() {
    let journal = tempfile::tempdir().unwrap();
    let tuning = Arc::new(Tuning::apply(&TuningPlan::default(), journal.path()).unwrap());
    let kind = tuning.partition().unwrap().join("cpuset.cpus.partition");
    let kind = || fs::read_to_string(&kind).unwrap();
    let [first, second] = [(); 2].map(|()| tuning.lift_partition().unwrap());
    let spec = ChamberSpec {
        cpus: 2,
        cores: vec![0, 1],
        ..spec()
    };
    let script = "grep Cpus_allowed_list /proc/self/status | tr -s '\\t' ' '";
    let finished = try_run(&shell(script), &spec, &limits()).unwrap();
    assert_eq!(finished.stdout, "Cpus_allowed_list: 0-1\n");
    drop(first);
    assert_eq!(kind(), "member\n");
    drop(second);
    assert_eq!(kind(), "isolated\n");
}

/// A group that wants a core too keeps it from being anybody's own, at least on older kernels.
fn the_strongest_partition_that_there_is_is_taken() {
    let others = Path::new("/sys/fs/cgroup/others");
    fs::create_dir(others).unwrap();
    fs::write(others.join("cpuset.cpus"), "0-1").unwrap();
    let journal = tempfile::tempdir().unwrap();
    let tuning = Tuning::apply(&TuningPlan::default(), journal.path()).unwrap();
    let partition = tuning.partition().unwrap();
    let kind = fs::read_to_string(partition.join("cpuset.cpus.partition")).unwrap();
    let knob = tuning.knobs().iter().find(|knob| knob.name == "partition");
    let knob = knob.unwrap();
    println!("beside another group: {knob:?}");
    assert!(knob.detail.starts_with(kind.trim()), "{kind} {knob:?}");
    let is_wanted = kind == "isolated\n";
    assert_eq!(knob.state == KnobState::InEffect, is_wanted, "{knob:?}");
    let spec = ChamberSpec {
        cores: vec![1],
        partition: Some(partition),
        ..spec()
    };
    let finished = try_run(&shell("true"), &spec, &limits()).unwrap();
    assert_eq!(finished.exit.outcome, Outcome::Exited(0));
    tuning.restore().unwrap();
    fs::remove_dir(others).unwrap();
}

/// How long the second core has run programs, in hundredths of seconds.
fn worked_on_core_one() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let core = stat.lines().find_map(|line| line.strip_prefix("cpu1 "));
    let user = core.unwrap().split_ascii_whitespace().next();
    user.unwrap().parse().unwrap()
}

/// Whether a thread of this process can run on a core.
fn can_be_on(core: u32) -> bool {
    let thread = thread::spawn(move || pin_this_thread(&[core]).is_ok());
    thread.join().unwrap()
}

fn a_killed_tuner_is_undone() {
    let before = settings();
    let mut tuner = tuner();
    let mut lines = BufReader::new(tuner.stdout.take().unwrap()).lines();
    let journal = lines
        .find_map(|line| {
            line.unwrap()
                .strip_prefix("tuned, journal in ")
                .map(PathBuf::from)
        })
        .expect("the tuner says so");
    tuner.kill().unwrap();
    tuner.wait().unwrap();
    assert_ne!(settings(), before, "a killed process puts nothing back");
    assert!(undo(&journal).unwrap() > 0);
    assert_eq!(settings(), before);
    // What is left of the partition is an empty group.
    assert_eq!(sweep().unwrap(), 1);
}

fn tuner() -> Child {
    Process::new(std::env::current_exe().unwrap())
        .args([
            "--nocapture",
            "--exact",
            "bare_metal::plays_a_bare_metal_host",
        ])
        .env(ROLE, "killed tuner")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn tune_until_killed() {
    let journal = tempfile::tempdir().unwrap().keep();
    let _tuning = Tuning::apply(&TuningPlan::default(), &journal).unwrap();
    println!("tuned, journal in {}", journal.display());
    loop {
        thread::park();
    }
}

/// Makes the machine's initial root: this program with its libraries, busybox, and the base of all tests.
fn pack(directory: &Path, kernel: &GuestKernel) -> PathBuf {
    let root = directory.join("root");
    host_machine::furnish(&root, &["place"]);
    let tests = root.join("bin/tests");
    fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
    copy_libraries(&tests, &root);
    copy_modules(kernel, &["overlay.ko", "loop.ko"], &root);
    let name = base().file_name().unwrap();
    run(Process::new("cp")
        .arg("-a")
        .arg(base())
        .arg(root.join("place").join(name)));
    write_program(&root.join("init"), INIT);
    write_program(
        &root.join("start"),
        &START
            .replace("KILN_TEST_BASE_PLACE", PLACE)
            .replace("ALIVE_WORDS", ALIVE),
    );
    archive(&root, &directory.join("initramfs"))
}
