//! Booting without a job.

use std::io::{self, Write, pipe};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use kiln_guest_init::protocol::machine::VSOCK_PORT;
use kiln_model::Clock;
use rustix::event::poll;

use super::config::FirecrackerConfig;
use super::launch::PAUSE;
use super::machine::Hardware;
use super::place::VSOCK;
use super::vsock;
use crate::guest::Leash;
use crate::link::{Link, socket_pair};
use crate::microvm::{BootReport, InitialFiles, Monitor, Process, Shape, watch};
use crate::{CancelToken, Error};

/// How often a monitor that hung up is looked at before it is said to live on.
const LOOKS: u32 = 100;

/// Enough for any kernel to come up.
const SHAPE: Shape = Shape {
    cpus: 1,
    memory_bytes: 128 << 20,
    network: false,
};

impl FirecrackerConfig {
    /// Boots the kernel with our guest program, which a guest of another kind does not know, and a serial line that is
    /// copied to `serial`, and says what became of it.
    pub fn boot(
        &self,
        clock: &dyn Clock,
        patience: Duration,
        serial: &mut dyn Write,
    ) -> Result<BootReport, Error> {
        let config = self.clone().located()?;
        config.check_jail()?;
        let place = config.place()?;
        let initial = InitialFiles::default();
        let hardware = Hardware {
            shape: SHAPE,
            kernel: self.kernel.image(),
            initramfs: Some(initial.file(&config.kernel, &config.work_dir)?.path()),
            disks: None,
            console: true,
            tap: None,
        };
        hardware.put_into(&place)?;
        let (line, line_end) =
            pipe().map_err(|error| Error::host("cannot prepare a boot", error))?;
        let started = clock.monotonic();
        let (mut process, mut api) =
            config.launch(clock, &place, Leash::default(), Stdio::from(line_end))?;
        // It says what it is before it is given anything.
        let itself = api.get("/")?;
        if let Err(error) = hardware.start(&mut api)
            && !ends_soon(&mut process)
        {
            return Err(error);
        }
        let (ours, theirs) = socket_pair()?;
        let monitor = Monitor::new(process, Link::new(ours)?);
        let over = CancelToken::new()?;
        let report = thread::scope(|scope| {
            scope.spawn(|| carry_words(&place.socket(VSOCK), theirs, &over));
            let report = watch(clock, started, patience, monitor, line, serial);
            over.cancel();
            report
        })?;
        Ok(BootReport {
            version: itself["vmm_version"].as_str().map(str::to_owned),
            ..report
        })
    }
}

/// Carries what the guest program says, if there is one, until it or the boot is over.
fn carry_words(guest: &Path, mut to: UnixStream, over: &CancelToken) {
    while !over.is_canceled() {
        if let Ok(Some(mut from)) = vsock::connect(guest, VSOCK_PORT, over)
            && io::copy(&mut from, &mut to).is_ok_and(|bytes| bytes > 0)
        {
            return;
        }
        // Interrupted or not, the next attempt follows.
        let _ = poll(&mut [], Some(&PAUSE));
    }
}

/// Whether the monitor is at its end: a guest can be over before its start is confirmed.
fn ends_soon(process: &mut Process) -> bool {
    (0..LOOKS).any(|_| {
        // Interrupted or not, the next look follows.
        let _ = poll(&mut [], Some(&PAUSE));
        process.ended().is_some()
    })
}
