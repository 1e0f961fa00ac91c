//! PID 1 of a chamber.
//!
//! ```text
//! host ──exec──▶ launcher ──clone──▶ PID 1 ──fork──▶ command
//!                                    reports to the host, which is its parent
//! ```
//!
//! One launcher serves for as long as the host has chambers to launch, or, in a microVM, once. The launcher still stands in the host's namespaces: it writes id maps and prepares layers. PID 1 is born in the new
//! ones, builds the root file system, starts the command and stays until everything in the chamber is gone.

mod bare;
mod collect;
mod command;
mod fault;
mod filter;
mod gauge;
mod hostname;
#[cfg(target_arch = "x86_64")]
mod kvm;
mod landlock;
mod launch;
mod leash;
mod limits;
mod machine;
mod mounts;
mod oom;
mod peak;
mod pid1;
mod privileges;
mod stopwatch;
mod supervise;
mod sys;
mod uplink;
mod warm;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Only a kernel starts us as the first process of all, with whatever it did not understand as arguments.
    if std::process::id() == 1 {
        machine::run();
    }
    match std::env::args().nth(1).as_deref() {
        None => launch::once(),
        Some("serve") => launch::serve(),
        Some("bare") => bare::run(),
        #[cfg(target_arch = "x86_64")]
        Some("kvm") => kvm::probe(),
        Some("leash") => leash::exec(std::env::args_os().skip(2)),
        Some("noise") => leash::measure_noise(std::env::args_os().skip(2)),
        Some("probe") => ExitCode::SUCCESS,
        Some(_) => ExitCode::from(2),
    }
}
