//! What a machine must learn before it does anything for a job.

use std::fs::File;

use kiln_guest_init::protocol::{Stage, Wake};
use rustix::time::{ClockId, Timespec, clock_settime};

use crate::fault::{At, Fault};
use crate::sys;

/// Sets the clock and makes this machine's random numbers its own.
pub(super) fn wake(wake: &Wake) -> Result<(), Fault> {
    let seconds = wake.wall_millis / 1000;
    let now = Timespec {
        tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(wake.wall_millis % 1000 * 1_000_000).unwrap_or(0),
    };
    clock_settime(ClockId::Realtime, now).at(Stage::Boot, || "cannot set the clock".into())?;
    let random = File::options()
        .write(true)
        .open("/dev/urandom")
        .at(Stage::Boot, || "cannot open /dev/urandom".into())?;
    sys::reseed(&random, &wake.entropy).at(Stage::Boot, || "cannot take the host's entropy".into())
}
