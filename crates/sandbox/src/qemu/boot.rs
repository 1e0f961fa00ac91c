//! Booting without a job.

use std::io::{Write, pipe};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use kiln_model::Clock;

use super::arguments::{Boot, Console, Hardware, Memory};
use super::backend::QemuConfig;
use crate::Error;
use crate::guest::Leash;
use crate::link::{Link, socket_pair};
use crate::microvm::{BootReport, Disks, HiddenFile, InitialFiles, Monitor, Process, Shape, watch};

/// Enough for any kernel to come up.
const SHAPE: Shape = Shape {
    cpus: 1,
    memory_bytes: 256 << 20,
    network: false,
};
const DISK_BYTES: u64 = 1 << 20;

impl QemuConfig {
    /// Boots the kernel with a serial line that is copied to `serial`, and says what became of it.
    pub fn boot(
        &self,
        clock: &dyn Clock,
        patience: Duration,
        serial: &mut dyn Write,
    ) -> Result<BootReport, Error> {
        let hidden = || HiddenFile::create(&self.work_dir);
        let failed = |error| Error::host("cannot prepare a boot", error);
        let initial = InitialFiles::default();
        let initramfs = initial.file(&self.kernel, &self.work_dir)?.path();
        let kernel = initial.kernel(&self.kernel, &self.work_dir)?;
        let [base, scratch] = [hidden()?, hidden()?];
        base.file().set_len(DISK_BYTES).map_err(failed)?;
        scratch.file().set_len(DISK_BYTES).map_err(failed)?;
        let disks = Disks {
            base: base.path(),
            scratch: scratch.path(),
        };
        let hardware = Hardware {
            accelerator: self.accelerator,
            shape: SHAPE,
            boot: Some(Boot {
                kernel: &kernel,
                initramfs: &initramfs,
            }),
            disks: &disks,
            memory: Memory::Own,
            tap: None,
        };
        let (ours, guests) = socket_pair()?;
        let (line, line_end) = pipe().map_err(failed)?;
        let mut command = Leash::default().command(&self.program)?;
        command
            .args(hardware.arguments(Console::Serial))
            .args(["-serial", "file:/dev/stdout"])
            .stdin(Stdio::from(OwnedFd::from(guests)))
            .stdout(Stdio::from(line_end));
        let started = clock.monotonic();
        let monitor = Monitor::new(Process::spawn(command, hidden()?)?, Link::new(ours)?);
        watch(clock, started, patience, monitor, line, serial)
    }
}
