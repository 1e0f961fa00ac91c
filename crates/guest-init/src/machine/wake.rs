//! What a machine must learn before it does anything for a job.

use std::fs::File;

use kiln_guest_init::protocol::{Stage, Wake};
use rustix::time::{ClockId, Timespec, clock_settime};

use crate::fault::{At, Fault};
use crate::sys;

/// The machine's random numbers, opened before there is any hurry.
pub(super) fn open_random() -> Result<File, Fault> {
    File::options()
        .write(true)
        .open("/dev/urandom")
        .at(Stage::Boot, || "cannot open /dev/urandom".into())
}

/// Sets the clock and makes this machine's random numbers its own.
pub(super) fn wake(wake: &Wake, random: &File) -> Result<(), Fault> {
    let seconds = wake.wall_millis / 1000;
    let now = Timespec {
        tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(wake.wall_millis % 1000 * 1_000_000).unwrap_or(0),
    };
    clock_settime(ClockId::Realtime, now).at(Stage::Boot, || "cannot set the clock".into())?;
    sys::reseed(random, &wake.entropy).at(Stage::Boot, || "cannot take the host's entropy".into())
}
