//! PID 1 of a chamber.
//!
//! ```text
//! host ──exec──▶ launcher ──clone──▶ PID 1 ──fork──▶ command
//!                exits at once       reports to the host, which is its parent
//! ```
//!
//! The launcher still stands in the host's namespaces: it writes id maps and prepares layers. PID 1 is born in the new
//! ones, builds the root file system, starts the command and stays until everything in the chamber is gone.

mod collect;
mod command;
mod fault;
mod filter;
mod hostname;
mod landlock;
mod launch;
mod limits;
mod mounts;
mod pid1;
mod privileges;
mod stopwatch;
mod supervise;
mod sys;

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        None => launch::launch(),
        Some("probe") => ExitCode::SUCCESS,
        Some(_) => ExitCode::from(2),
    }
}
