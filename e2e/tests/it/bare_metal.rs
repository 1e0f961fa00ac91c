//! The real program on a host of its own: an emulated machine with control groups of version 2 and knobs that nobody else
//! needs, where a runner may do to its host what it does to bare metal.
//!
//! The machine's script tries one thing after another and says of each whether it went well; see `bare_metal.sh`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use kiln_e2e::{Town, program, shell_layout};
use kiln_sandbox::GuestKernel;

use crate::offering::Offering;

/// What the script says before it switches the machine off.
const ENDED: &str = "the bare-metal host has tried everything";

/// An emulated machine can stop for good on a busy host; one that says nothing at all is not waited for, and another takes its
/// place. One that lives says so every twenty seconds.
const SILENCE: Duration = Duration::from_mins(3);
const MACHINES: u32 = 3;

/// QEMU, the kind of machine and its console, for this host's kind of processor.
const MACHINE: [&str; 3] = if cfg!(target_arch = "aarch64") {
    ["qemu-system-aarch64", "virt", "ttyAMA0"]
} else {
    ["qemu-system-x86_64", "pc", "ttyS0"]
};

/// Emulated timers tick too seldom for the kernel's check of them on a busy host.
const BOOT: &str = "quiet panic=-1 nmi_watchdog=1 printk.devkmsg=on no_timer_check";

#[test]
fn a_runner_looks_after_a_bare_metal_host() {
    let kernel = GuestKernel::find().expect("no guest kernel: run `cargo xtask setup`");
    let town = Town::new();
    let initramfs = pack(&town, &kernel);
    let said = (0..MACHINES)
        .find_map(|_| live_through(&kernel, &initramfs))
        .expect("no machine lived on");
    assert!(said.contains(ENDED), "{said}");
    assert!(!said.contains("NOT WELL"), "{said}");
}

/// Whoever offers the machine's runner another program: does nothing unless the machine starts this program with a role.
#[tokio::test]
async fn plays_a_server() {
    if std::env::var("KILN_TEST_ROLE").as_deref() != Ok("server") {
        return;
    }
    let _server = Offering::start("127.0.0.1:4000", Path::new("/bin/newer"), 1).await;
    fs::write("/tmp/listening", "").unwrap();
    std::future::pending::<()>().await;
}

/// What a machine said until it was switched off; nothing if it fell silent before.
fn live_through(kernel: &GuestKernel, initramfs: &Path) -> Option<String> {
    let mut machine = start(kernel, initramfs);
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

fn start(kernel: &GuestKernel, initramfs: &Path) -> Child {
    let [qemu, machine, console] = MACHINE;
    Command::new(qemu)
        .args("-nodefaults -no-user-config -display none -no-reboot -serial stdio".split(' '))
        .args("-accel tcg,thread=multi -cpu max -smp 2 -m 1280".split(' '))
        .args(["-machine", machine, "-append"])
        .arg(format!("console={console} {BOOT}"))
        .arg("-kernel")
        .arg(kernel.image())
        .arg("-initrd")
        .arg(initramfs)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("qemu is not installed: run `cargo xtask setup`")
}

/// Makes the machine's initial root: the program with its libraries, busybox, the script and the images it runs.
fn pack(town: &Town, kernel: &GuestKernel) -> PathBuf {
    let root = town.path().join("machine");
    for place in ["bin", "modules", "images", "dev", "lib", "lib64"] {
        fs::create_dir_all(root.join(place)).unwrap();
    }
    fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    let applets = Command::new("/bin/busybox").arg("--list").output().unwrap();
    for applet in String::from_utf8_lossy(&applets.stdout).lines() {
        if applet != "busybox" {
            symlink("busybox", root.join("bin").join(applet)).unwrap();
        }
    }
    for (name, from) in [
        ("kiln", program()),
        ("tests", std::env::current_exe().unwrap()),
    ] {
        // What debuggers want to know would fill the machine's memory.
        let to = root.join("bin").join(name);
        run(Command::new("strip").arg("-o").arg(&to).arg(from));
        copy_libraries(&to, &root);
    }
    copy_module(kernel, "overlay.ko", &root.join("modules"));
    // Whom a program that can fetch images trusts.
    let trusted = "/etc/ssl/certs/ca-certificates.crt";
    fs::copy(trusted, root.join("lib/certificates")).unwrap();
    for (tag, script) in [
        (
            "cores",
            "while read -r line; do echo \"$line\"; done < /proc/self/status",
        ),
        ("waits", "sleep 1000"),
        ("pauses", "sleep 5"),
    ] {
        shell_layout(town.path(), tag, script);
        run(Command::new("cp")
            .arg("-a")
            .arg(town.path().join(format!("layout-{tag}")))
            .arg(root.join("images").join(tag)));
    }
    let script = root.join("start");
    fs::write(&script, include_str!("bare_metal.sh")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("start", root.join("init")).unwrap();
    archive(&root, &town.path().join("initramfs"))
}

fn copy_libraries(program: &Path, root: &Path) {
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

fn copy_module(kernel: &GuestKernel, name: &str, to: &Path) {
    let place = kernel.image().ancestors().nth(2).unwrap();
    let found = Command::new("find")
        .arg(place.join("lib/modules"))
        .args(["-name", name])
        .output()
        .unwrap();
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let path = found.lines().next().expect("modules lie by their kernel");
    fs::copy(path, to.join(name)).unwrap();
}

fn archive(root: &Path, to: &Path) -> PathBuf {
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

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}
