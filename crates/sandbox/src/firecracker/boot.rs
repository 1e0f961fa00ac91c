//! Booting without a job.

use std::io::{Write, pipe};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use kiln_model::Clock;
use rustix::event::poll;

use super::config::FirecrackerConfig;
use super::launch::PAUSE;
use super::machine::Hardware;
use crate::Error;
use crate::guest::Leash;
use crate::link::Link;
use crate::microvm::{BootReport, Monitor, Process, Shape, watch};

/// How often a monitor that hung up is looked at before it is said to live on.
const LOOKS: u32 = 100;

/// Enough for any kernel to come up.
const SHAPE: Shape = Shape {
    cpus: 1,
    memory_bytes: 128 << 20,
    network: false,
};

impl FirecrackerConfig {
    /// Boots the kernel alone, with a serial line that is copied to `serial`, and says what became of it.
    pub fn boot(
        &self,
        clock: &dyn Clock,
        patience: Duration,
        serial: &mut dyn Write,
    ) -> Result<BootReport, Error> {
        let failed = |error| Error::host("cannot prepare a boot", error);
        let config = self.clone().located()?;
        let place = config.place()?;
        let hardware = Hardware {
            shape: SHAPE,
            kernel: self.kernel.image(),
            initramfs: None,
            disks: None,
            console: true,
            tap: None,
        };
        hardware.put_into(&place)?;
        let (line, line_end) = pipe().map_err(failed)?;
        let started = clock.monotonic();
        let (mut process, mut api) =
            config.launch(clock, &place, Leash::default(), Stdio::from(line_end))?;
        // It says what it is before it is given anything.
        api.get("/")?;
        if let Err(error) = hardware.start(&mut api)
            && !ends_soon(&mut process)
        {
            return Err(error);
        }
        // Without an initial file system no guest of ours will say a word: only the line and the end count.
        let (silent, _keep) = UnixStream::pair().map_err(failed)?;
        let monitor = Monitor::new(process, Link::new(silent)?).keeping(Box::new(place));
        watch(clock, started, patience, monitor, line, serial)
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
