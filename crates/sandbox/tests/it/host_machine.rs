//! An emulated machine that plays a bare-metal host, for the tests of this crate and of the whole program.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use kiln_sandbox::GuestKernel;

/// An emulated machine can stop for good on a busy host. One that does not even say that it lives, as its script does every
/// twenty seconds, is not waited for, and another takes its place; what a living one has to say counts at once.
const SILENCE: Duration = Duration::from_mins(3);
const MACHINES: u32 = 3;

/// QEMU, the kind of machine and its console, for this host's kind of processor.
const MACHINE: [&str; 3] = if cfg!(target_arch = "aarch64") {
    ["qemu-system-aarch64", "virt", "ttyAMA0"]
} else {
    ["qemu-system-x86_64", "pc", "ttyS0"]
};

/// On a busy host an emulated timer ticks too seldom for the kernel's check of it, which then does without its interrupts, or
/// without going on.
const BOOT: &str = "quiet panic=-1 psi=1 nmi_watchdog=1 printk.devkmsg=on no_timer_check";

/// The kernel that machines here boot.
pub(crate) fn kernel() -> GuestKernel {
    GuestKernel::find().expect("no guest kernel: run `cargo xtask setup`")
}

/// What such a machine says until it is switched off. It has a disk if one is given.
pub(crate) fn live(kernel: &GuestKernel, initramfs: &Path, disk: Option<&Path>) -> String {
    (0..MACHINES)
        .find_map(|_| live_through(start(kernel, initramfs, disk)))
        .expect("no machine lived on")
}

/// What a machine said; nothing if it fell silent before its end.
fn live_through(mut machine: Child) -> Option<String> {
    let console = BufReader::new(machine.stdout.take().unwrap());
    let (line, lines) = mpsc::channel();
    let listener = thread::spawn(move || {
        console
            .split(b'\n')
            .map_while(Result::ok)
            .try_for_each(|bytes| line.send(String::from_utf8_lossy(&bytes).into_owned()))
    });
    let mut said = String::new();
    let fell_silent = loop {
        match lines.recv_timeout(SILENCE) {
            Ok(line) => said.extend([line.as_str(), "\n"]),
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => break true,
        }
    };
    if fell_silent {
        eprintln!("the machine fell silent after:\n{said}");
        machine.kill().unwrap();
    }
    machine.wait().unwrap();
    // It has nothing to read any more.
    drop(lines);
    let _ = listener.join().unwrap();
    (!fell_silent).then_some(said)
}

fn start(kernel: &GuestKernel, initramfs: &Path, disk: Option<&Path>) -> Child {
    let [qemu, machine, console] = MACHINE;
    let mut command = Command::new(qemu);
    command
        .args("-nodefaults -no-user-config -display none -no-reboot -serial stdio".split(' '))
        .args("-accel tcg,thread=multi -cpu max -smp 2 -m 1280".split(' '))
        .args(["-machine", machine, "-append"])
        .arg(format!("console={console} {BOOT}"))
        .arg("-kernel")
        .arg(kernel.image())
        .arg("-initrd")
        .arg(initramfs);
    if let Some(disk) = disk {
        let file = disk.display();
        command
            .arg("-drive")
            .arg(format!(
                "file={file},format=raw,if=none,id=disk,cache=unsafe"
            ))
            .args(["-device", "nvme,drive=disk,serial=kiln"]);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("qemu is not installed: run `cargo xtask setup`")
}

/// Begins a machine's initial root: places, and busybox under all its names.
pub(crate) fn furnish(root: &Path, places: &[&str]) {
    // Where the loader of libraries lies differs between kinds of processors.
    for place in ["bin", "modules", "dev", "lib", "lib64"]
        .iter()
        .chain(places)
    {
        fs::create_dir_all(root.join(place)).unwrap();
    }
    fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    let applets = Command::new("/bin/busybox").arg("--list").output().unwrap();
    for applet in String::from_utf8_lossy(&applets.stdout).lines() {
        if applet != "busybox" {
            symlink("busybox", root.join("bin").join(applet)).unwrap();
        }
    }
}

/// Brings what a program of the root needs to start.
pub(crate) fn copy_libraries(program: &Path, root: &Path) {
    let listed = Command::new("ldd").arg(program).output().unwrap();
    for library in String::from_utf8_lossy(&listed.stdout)
        .split_ascii_whitespace()
        .filter(|word| word.starts_with('/'))
    {
        let target = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(library, target).unwrap();
    }
}

/// Brings these modules of the kernel to the root's `modules`.
pub(crate) fn copy_modules(kernel: &GuestKernel, names: &[&str], root: &Path) {
    let place = kernel.image().ancestors().nth(2).unwrap();
    for name in names {
        let found = Command::new("find")
            .arg(place.join("lib/modules"))
            .args(["-name", name])
            .output()
            .unwrap();
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        let path = found
            .lines()
            .next()
            .expect("the kernel's modules are beside it");
        fs::copy(path, root.join("modules").join(name)).unwrap();
    }
}

pub(crate) fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Packs the root into what a kernel begins with.
pub(crate) fn archive(root: &Path, to: &Path) -> PathBuf {
    let mut find = Command::new("find");
    let listed = find.arg(".").current_dir(root).output().unwrap();
    let mut cpio = Command::new("cpio")
        .args(["--create", "--format=newc", "--quiet"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(fs::File::create(to).unwrap())
        .spawn()
        .expect("cpio is not installed: run `cargo xtask setup`");
    let mut names = cpio.stdin.take().unwrap();
    names.write_all(&listed.stdout).unwrap();
    drop(names);
    assert!(cpio.wait().unwrap().success());
    to.to_owned()
}

pub(crate) fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}
