//! Booting without a job.

use std::io::{Write, pipe};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use kiln_model::Clock;

use super::backend::FirecrackerConfig;
use super::machine::Hardware;
use super::place::Place;
use crate::Error;
use crate::link::Link;
use crate::microvm::{BootReport, Monitor, Shape, watch};

/// Enough for any kernel to come up.
const SHAPE: Shape = Shape {
    cpus: 1,
    memory_bytes: 128 << 20,
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
        let place = Place::create(&self.work_dir)?;
        let (line, line_end) = pipe().map_err(failed)?;
        let started = clock.monotonic();
        let (process, mut api) = self.spawn(clock, &place, Stdio::from(line_end))?;
        // It says what it is before it is given anything.
        api.get("/")?;
        let hardware = Hardware {
            shape: SHAPE,
            kernel: self.kernel.image(),
            initramfs: None,
            disks: None,
            console: true,
        };
        hardware.start(&mut api, &place)?;
        // Without an initial file system no guest of ours will say a word: only the line and the end count.
        let (silent, _keep) = UnixStream::pair().map_err(failed)?;
        let monitor = Monitor::new(process, Link::new(silent)?).keeping(Box::new(place));
        watch(clock, started, patience, monitor, line, serial)
    }
}
