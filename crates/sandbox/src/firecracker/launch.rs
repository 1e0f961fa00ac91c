//! Starting the program, by itself or through its jailer.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use kiln_model::Clock;
use rustix::event::{Timespec, poll};

use super::api::{Api, broken};
use super::config::FirecrackerConfig;
use super::jail;
use super::place::{API, LOG, METRICS, Place};
use crate::Error;
use crate::guest::Leash;
use crate::microvm::{HiddenFile, Process};

/// Firecracker's socket is there a few milliseconds after its start.
const API_PATIENCE: Duration = Duration::from_secs(10);

pub(super) const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

impl FirecrackerConfig {
    /// A directory for one machine.
    pub(super) fn place(&self) -> Result<Place, Error> {
        let jailed = self.jailer.as_ref().map(|_| self.program.as_path());
        Place::create(&self.work_dir, jailed)
    }

    /// Starts the program on a leash and waits for its socket.
    pub(super) fn launch(
        &self,
        clock: &dyn Clock,
        place: &Place,
        leash: Leash,
        stdout: Stdio,
    ) -> Result<(Process, Api), Error> {
        let leash = Leash {
            changes_user: self.jailer.is_some(),
            ..leash
        };
        let mut command = leash.command(self.jailer.as_ref().unwrap_or(&self.program))?;
        if let Some(inmate) = place.inmate() {
            let base = place.directory();
            let program = &self.program;
            command.args(jail::arguments(program, &place.id(), inmate, base));
        } else {
            command.arg("--id").arg(place.id());
        }
        command.args(own_arguments());
        command
            .current_dir(place.root())
            .stdin(Stdio::null())
            .stdout(stdout);
        let complaints = HiddenFile::create(&self.work_dir)?;
        let mut process = Process::spawn(command, complaints)?;
        let deadline = clock.monotonic() + API_PATIENCE;
        loop {
            if let Ok(api) = Api::connect(&place.socket(API)) {
                return Ok((process, api));
            }
            if let Some(status) = process.ended() {
                let words = place.last_words();
                let what = format!("it ended before it could be talked to: {status} {words}");
                return Err(process.explain_end(what.trim_end()));
            }
            if clock.monotonic() >= deadline {
                return Err(broken("it does not open its socket"));
            }
            // Interrupted or not, the next attempt follows.
            let _ = poll(&mut [], Some(&PAUSE));
        }
    }
}

/// What Firecracker is told by itself and in a jail; its jailer tells it its id.
fn own_arguments() -> Vec<OsString> {
    let pairs = [
        ("--api-sock", API),
        // Its log and the guest's serial line would otherwise mix on its standard output.
        ("--log-path", LOG),
        ("--metrics-path", METRICS),
    ];
    pairs
        .into_iter()
        .flat_map(|(option, value)| [option.into(), value.into()])
        .collect()
}
