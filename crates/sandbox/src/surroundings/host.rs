//! What this host tells about itself around every run.

use std::sync::OnceLock;
use std::time::Duration;

use kiln_model::v0::Frequency;

use super::{Clocks, PressureFiles, Steal, Waited};

/// They stay open as long as this process lives: opening one costs as much as reading it twice.
#[derive(Debug)]
pub(crate) struct HostFiles {
    steal: Option<Steal>,
    pressure: Option<PressureFiles>,
    clocks: Clocks,
}

impl HostFiles {
    pub(crate) fn open_once() -> &'static Self {
        static FILES: OnceLock<HostFiles> = OnceLock::new();
        FILES.get_or_init(|| Self {
            steal: Steal::open(),
            pressure: PressureFiles::of_host(),
            clocks: Clocks::find(),
        })
    }

    /// What a hypervisor gave to others since boot.
    pub(crate) fn stolen(&self) -> Option<Duration> {
        self.steal.as_ref()?.so_far()
    }

    /// What everybody on this host has waited for.
    pub(crate) fn waited(&self) -> Option<Waited> {
        self.pressure.as_ref()?.so_far()
    }

    pub(crate) fn frequency(&self) -> Option<Frequency> {
        self.clocks.frequency()
    }
}
