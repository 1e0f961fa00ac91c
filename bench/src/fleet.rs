//! A server with runners: how soon a job is in a runner's hand, how many jobs pass through, what many connected runners
//! cost, and whether any of it grows with what there was before.
//!
//! The server is the real program in a process of its own, on `SQLite` with its usual settings. The load comes from one
//! thread of this one.

mod channel;
mod hand;
mod history;
mod http;
mod idle;
mod lifecycles;
mod past;
mod server;
mod submit;
mod words;
mod world;

use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;
use crate::registry;
use crate::report::Measurement;
use crate::window::Window;

/// What of a fleet is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// From a submission to the job in an idle runner's hand.
    Hand,
    /// Whole lives of jobs, with 256 runners.
    Lifecycles,
    /// Submissions alone.
    Submit,
    /// Ten thousand runners: idle, running, and after a restart of the server.
    Idle,
    /// Claims after a million jobs, and behind a hundred thousand.
    History,
}

/// What every part needs.
struct Scene<'a> {
    place: &'a Path,
    kiln: PathBuf,
    window: Window,
    runtime: Runtime,
    say: &'a dyn Fn(&str),
}

/// Measures these parts; all of them when none is named.
pub(crate) fn measure(
    place: &Path,
    parts: &[Part],
    window: Window,
    say: &dyn Fn(&str),
) -> Result<Vec<Measurement>, Failure> {
    say("fleet: building kiln");
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Failure::io("start a runtime", source))?;
    let scene = Scene {
        place,
        kiln: registry::build()?,
        window,
        runtime,
        say,
    };
    let wanted = |part: &&Part| parts.is_empty() || parts.contains(part);
    let parts = Part::value_variants().iter().filter(wanted);
    parts.map(|part| part.measure(&scene)).collect()
}

impl Part {
    fn measure(self, scene: &Scene<'_>) -> Result<Measurement, Failure> {
        match self {
            Self::Hand => hand::measure(scene),
            Self::Lifecycles => lifecycles::measure(scene),
            Self::Submit => submit::measure(scene),
            Self::Idle => idle::measure(scene),
            Self::History => history::measure(scene),
        }
    }
}

fn broken(source: io::Error) -> Failure {
    Failure::io("talk to the server", source)
}
