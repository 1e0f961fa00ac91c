//! What a command cannot see and cannot do.

use std::fs;

use kiln_sandbox::{Backend, CancelToken, Command, Namespaces, Outcome, Rootfs, Transcript};

use crate::base::base;
use crate::support::{HostClock, disks, limits, output_of, run, shell, spec};

const EPERM: &str = "1\n";
const ENOSYS: &str = "38\n";

/// The error number of a system call made in a chamber, as a line.
fn attempt(call: i64, arguments: &str) -> String {
    run(&shell(&format!("attempt {call} {arguments}"))).stdout
}

#[test]
fn every_layer_of_isolation_is_in_place_on_this_host() {
    let sealed = run(&shell("true")).exit.sealed;
    let missing: Vec<_> = sealed.missing().collect();
    assert!(missing.is_empty(), "{missing:?}");
    for name in [
        "namespaces",
        "ids",
        "capabilities",
        "no-new-privileges",
        "seccomp",
        "landlock",
        "memory",
        "cpu",
        "pids",
    ] {
        assert!(sealed.layer(name).is_some(), "{name} is not reported");
    }
}

#[test]
fn the_only_network_device_is_a_loopback_that_is_up() {
    assert_eq!(
        output_of("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"),
        "lo\n"
    );
    assert!(output_of("ifconfig lo").contains("UP LOOPBACK"));
    // Either side of busybox's nc may hang up before the other has spoken, so a conversation may take another try.
    let talk = "nc -l -p 4000 > /tmp/got & until echo sent | nc 127.0.0.1 4000 2>/dev/null; do :; done; wait";
    let script = format!(
        "n=0; until [ -s /tmp/got ] || [ $n = 100 ]; do n=$((n+1)); {talk}; done; cat /tmp/got"
    );
    assert_eq!(output_of(&script), "sent\n");
}

#[test]
fn no_process_of_the_host_is_visible() {
    let listed = output_of("ls /proc | grep -c '^[0-9]'");
    let count: u32 = listed.trim().parse().unwrap();
    assert!(
        count <= 4,
        "PID 1, the shell and its pipeline, but {count} are there"
    );
    assert_eq!(output_of("cat /proc/1/comm"), "kiln-init\n");
}

#[test]
fn no_file_of_the_host_is_visible() {
    let canary = tempfile::NamedTempFile::new().unwrap();
    let path = canary.path().display();
    assert_eq!(
        run(&shell(&format!("cat {path}"))).exit.outcome,
        Outcome::Exited(1)
    );
    assert_eq!(
        output_of("cut -d' ' -f5 /proc/self/mountinfo | grep -v -e '^/proc' -e '^/dev'"),
        "/\n"
    );
}

#[test]
fn the_hosts_control_groups_are_not_visible() {
    assert_eq!(
        output_of("cut -d: -f3 /proc/self/cgroup | grep -v '^/$'; true"),
        ""
    );
}

#[test]
fn the_first_process_cannot_be_looked_into() {
    for file in ["environ", "mem", "root/etc", "fd", "exe"] {
        let finished = run(&shell(&format!(
            "ls -l /proc/1/{file}/ || cat /proc/1/{file}"
        )));
        assert_ne!(finished.exit.code(), Some(0), "{file}: {finished:?}");
    }
}

#[test]
fn the_first_process_cannot_be_ended_from_inside() {
    assert_eq!(
        output_of("kill -KILL 1 2>/dev/null; kill -TERM 1 2>/dev/null; echo alive"),
        "alive\n"
    );
}

#[test]
fn signals_stay_inside_where_landlock_can_keep_them() {
    let finished = run(&shell("kill -0 1"));
    let landlock = finished.exit.sealed.layer("landlock").unwrap();
    let abi: Option<u32> = landlock
        .detail
        .strip_prefix("abi ")
        .and_then(|abi| abi.parse().ok());
    let kept_inside = landlock.applied && abi.unwrap() >= 6;
    assert_eq!(finished.exit.code() != Some(0), kept_inside, "{landlock:?}");
}

#[test]
fn there_are_no_capabilities_and_none_to_gain() {
    let zero = "0000000000000000";
    let expected: String = ["Inh", "Prm", "Eff", "Bnd", "Amb"]
        .map(|set| format!("Cap{set}:\t{zero}\n"))
        .concat();
    assert_eq!(output_of("grep ^Cap /proc/self/status"), expected);
    assert_eq!(
        output_of("grep ^NoNewPrivs /proc/self/status"),
        "NoNewPrivs:\t1\n"
    );
}

#[test]
fn root_inside_is_nobody_outside() {
    let map = output_of("cat /proc/self/uid_map");
    let outside: u64 = map
        .split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    assert!(outside >= 0x7000_0000, "{map}");
}

#[test]
fn dangerous_system_calls_are_refused() {
    for (name, call) in [
        ("mount", libc::SYS_mount),
        ("umount2", libc::SYS_umount2),
        ("fsopen", libc::SYS_fsopen),
        ("ptrace", libc::SYS_ptrace),
        ("process_vm_writev", libc::SYS_process_vm_writev),
        ("bpf", libc::SYS_bpf),
        ("perf_event_open", libc::SYS_perf_event_open),
        ("keyctl", libc::SYS_keyctl),
        ("userfaultfd", libc::SYS_userfaultfd),
        ("setns", libc::SYS_setns),
        ("unshare", libc::SYS_unshare),
    ] {
        assert_eq!(attempt(call, "0 0 0 0"), EPERM, "{name}");
    }
}

#[test]
fn new_namespaces_are_refused_however_they_are_asked_for() {
    assert_eq!(
        attempt(libc::SYS_clone, &libc::CLONE_NEWUSER.to_string()),
        EPERM
    );
    assert_eq!(attempt(libc::SYS_clone3, "0 0"), ENOSYS);
    assert_ne!(run(&shell("unshare -r true")).exit.code(), Some(0));
}

#[test]
fn strange_socket_families_are_refused() {
    assert_eq!(
        attempt(libc::SYS_socket, &format!("{} 3 0", libc::AF_PACKET)),
        EPERM
    );
    assert_eq!(
        attempt(libc::SYS_socket, &format!("{} 1 0", libc::AF_VSOCK)),
        EPERM
    );
    assert_eq!(
        attempt(libc::SYS_socket, &format!("{} 1 0", libc::AF_INET)),
        "0\n"
    );
}

#[test]
fn an_unknown_system_call_does_not_exist() {
    assert_eq!(attempt(9999, ""), ENOSYS);
    assert_eq!(attempt(libc::SYS_io_uring_setup, "1 0"), ENOSYS);
}

#[test]
fn a_system_call_only_an_attack_makes_ends_the_program() {
    let finished = run(&Command::new([
        "/bin/attempt",
        &libc::SYS_init_module.to_string(),
    ]));
    assert_eq!(finished.exit.outcome, Outcome::Signaled(libc::SIGSYS));
}

#[test]
fn the_kernels_own_knobs_and_memory_are_out_of_reach() {
    assert_ne!(
        run(&shell("echo x > /proc/sys/kernel/hostname"))
            .exit
            .code(),
        Some(0)
    );
    assert_ne!(
        run(&shell("echo b > /proc/sysrq-trigger")).exit.code(),
        Some(0)
    );
    assert_eq!(output_of("cat /proc/kcore 2>/dev/null | wc -c"), "0\n");
    assert_eq!(output_of("cat /proc/keys"), "");
    assert_ne!(run(&shell("ls /sys/kernel")).exit.code(), Some(0));
}

#[test]
fn directories_that_tell_about_the_hosts_hardware_are_empty_and_stay_so() {
    let hidden = "for hidden in acpi asound scsi; do
        [ -e /proc/$hidden ] || continue
        ls -A /proc/$hidden
        ! touch /proc/$hidden/mine 2>/dev/null || echo writable
    done";
    assert_eq!(output_of(hidden), "");
}

#[test]
fn there_are_only_harmless_devices() {
    let expected = "fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero";
    assert_eq!(output_of("echo $(ls /dev)").trim(), expected);
    assert_ne!(run(&shell("mknod /tmp/disk b 8 0")).exit.code(), Some(0));
    assert_ne!(run(&shell("mknod /tmp/null c 1 3")).exit.code(), Some(0));
}

#[test]
fn devices_work() {
    assert_eq!(
        output_of(
            "head -c 8 /dev/urandom | wc -c; echo gone > /dev/null; echo kept > /dev/shm/x; cat /dev/shm/x"
        ),
        "8\nkept\n"
    );
}

#[test]
fn only_the_standard_streams_are_open() {
    assert_eq!(
        output_of("exec ls /proc/self/fd"),
        "0\n1\n2\n3\n",
        "3 is the directory that ls reads"
    );
}

#[test]
fn the_base_stays_as_it_was_and_every_run_starts_from_it() {
    let mut chamber = Namespaces::new(HostClock::new(), disks())
        .prepare(&Rootfs::directory(base()), &spec())
        .unwrap();
    let mut run = |script: &str| {
        let mut transcript = Transcript::default();
        let cancel = CancelToken::new().unwrap();
        let exit = chamber
            .run(&shell(script), &limits(), &mut transcript, &cancel)
            .unwrap();
        (exit.code(), String::from_utf8(transcript.stdout).unwrap())
    };
    let change = "echo changed > /etc/release && rm /bin/wc && touch /new && cat /etc/release";
    assert_eq!(run(change), (Some(0), "changed\n".to_owned()));
    assert_eq!(
        run("cat /etc/release; ls /bin/wc /new"),
        (Some(1), "base\n/bin/wc\n".to_owned())
    );
    chamber.destroy().unwrap();
    assert_eq!(
        fs::read_to_string(base().join("etc/release")).unwrap(),
        "base\n"
    );
    assert!(!base().join("new").exists());
}

#[test]
fn several_layers_make_one_root() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("etc")).unwrap();
    fs::write(top.path().join("etc/release"), "top\n").unwrap();
    let rootfs = Rootfs::layers(vec![top.path().to_owned(), base().to_owned()]);
    let mut chamber = Namespaces::new(HostClock::new(), disks())
        .prepare(&rootfs, &spec())
        .unwrap();
    let mut transcript = Transcript::default();
    let cancel = CancelToken::new().unwrap();
    chamber
        .run(
            &shell("cat /etc/release"),
            &limits(),
            &mut transcript,
            &cancel,
        )
        .unwrap();
    assert_eq!(transcript.stdout, b"top\n");
}

#[test]
fn a_base_whose_dev_is_a_link_is_refused() {
    let trap = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc", trap.path().join("dev")).unwrap();
    let mut chamber = Namespaces::new(HostClock::new(), disks())
        .prepare(&Rootfs::directory(trap.path()), &spec())
        .unwrap();
    let cancel = CancelToken::new().unwrap();
    let result = chamber.run(
        &shell("true"),
        &limits(),
        &mut Transcript::default(),
        &cancel,
    );
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains("dev of the image is not a plain directory")
    );
}

#[test]
fn a_base_without_a_tmp_gets_one_for_everybody() {
    let bare = tempfile::tempdir().unwrap();
    fs::create_dir(bare.path().join("bin")).unwrap();
    fs::copy(base().join("bin/busybox"), bare.path().join("bin/sh")).unwrap();
    let mut chamber = Namespaces::new(HostClock::new(), disks())
        .prepare(&Rootfs::directory(bare.path()), &spec())
        .unwrap();
    let command = Command {
        uid: 1000,
        gid: 1000,
        ..shell("echo x > /tmp/x && echo written")
    };
    let mut transcript = Transcript::default();
    let cancel = CancelToken::new().unwrap();
    chamber
        .run(&command, &limits(), &mut transcript, &cancel)
        .unwrap();
    assert_eq!(transcript.stdout, b"written\n");
}
