//! Which system calls a command may make.

mod program;
mod rules;
mod table;

use std::sync::OnceLock;

use kiln_guest_init::protocol::Stage;
use seccompiler::{BpfProgram, apply_filter};

use crate::fault::Fault;

/// The compiled filter.
#[derive(Debug)]
pub(crate) struct Filter(BpfProgram);

impl Filter {
    /// The tables, compiled when they are first asked for. A launcher does so before it is forked, once for all its chambers.
    ///
    /// It is one program that searches by halves: the kernel walks it for every call it knows when it is installed, and
    /// commands pay for each step of it.
    pub(crate) fn compiled() -> &'static Self {
        static FILTER: OnceLock<Filter> = OnceLock::new();
        FILTER.get_or_init(|| Self(program::assemble(&rules::ranges())))
    }

    /// Puts this process and its future children under the filter. Needs `no_new_privs`.
    pub(crate) fn apply(&self) -> Result<(), Fault> {
        apply_filter(&self.0).map_err(|error| Fault::new(Stage::Seccomp, error.to_string()))
    }
}
