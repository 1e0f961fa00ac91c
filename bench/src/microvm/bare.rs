//! QEMU as it comes, with the same kernel and an init that runs the same command.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use kiln_sandbox::GuestKernel;

use super::WORD;
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;

const PROGRAM: &str = if cfg!(target_arch = "aarch64") {
    "qemu-system-aarch64"
} else {
    "qemu-system-x86_64"
};

/// The machine and its console.
const MACHINE: [&str; 2] = if cfg!(target_arch = "aarch64") {
    ["virt", "console=ttyAMA0 panic=-1"]
} else {
    ["pc", "console=ttyS0 panic=-1 no_timer_check"]
};

pub(super) struct Bare {
    kernel: PathBuf,
    initramfs: PathBuf,
}

impl Bare {
    pub(super) fn new(place: &Path, root: &Path, kernel: &GuestKernel) -> Result<Self, Failure> {
        let failed = |source| Failure::io("make an initial file system", source);
        let directory = place.join("initial");
        fs::create_dir_all(directory.join("dev")).map_err(failed)?;
        // It is busybox under another name.
        fs::copy(root.join("bin/true"), directory.join("busybox")).map_err(failed)?;
        let init = directory.join("init");
        let script =
            format!("#!/busybox sh\n/busybox echo {WORD}\nwhile :; do /busybox sleep 1000; done\n");
        fs::write(&init, script).map_err(failed)?;
        fs::set_permissions(&init, fs::Permissions::from_mode(0o755)).map_err(failed)?;
        let initramfs = place.join("initial.cpio");
        let mut cpio = Command::new("cpio")
            .args(["--create", "--format=newc", "--quiet"])
            .current_dir(&directory)
            .stdin(Stdio::piped())
            .stdout(fs::File::create(&initramfs).map_err(failed)?)
            .spawn()
            .map_err(|source| Failure::io("run cpio", source))?;
        if let Some(mut list) = cpio.stdin.take() {
            list.write_all(b"dev\nbusybox\ninit\n").map_err(failed)?;
        }
        if !cpio.wait().map_err(failed)?.success() {
            return Err(Failure::Wrong("cpio cannot make an archive".to_owned()));
        }
        Ok(Self {
            kernel: kernel.image().to_owned(),
            initramfs,
        })
    }

    /// From nothing to the command's word.
    pub(super) fn boot(&self) -> Result<Duration, Failure> {
        let [machine, line] = MACHINE;
        let since = Stopwatch::start();
        let mut qemu = Command::new(PROGRAM)
            .args(["-nodefaults", "-display", "none", "-no-reboot"])
            .args(["-serial", "stdio", "-accel", "tcg", "-cpu", "max"])
            .args(["-m", "256M", "-machine", machine, "-append", line])
            .arg("-kernel")
            .arg(&self.kernel)
            .arg("-initrd")
            .arg(&self.initramfs)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| Failure::io(format!("run {PROGRAM}"), source))?;
        let serial = qemu.stdout.take().map(BufReader::new);
        let said = serial
            .into_iter()
            .flat_map(BufReader::lines)
            .map_while(Result::ok)
            .any(|line| line.contains(WORD));
        let span = since.elapsed();
        // Its end is of no interest.
        let _ = qemu.kill();
        let _ = qemu.wait();
        if said {
            Ok(span)
        } else {
            Err(Failure::Wrong("bare QEMU did not boot".to_owned()))
        }
    }
}
