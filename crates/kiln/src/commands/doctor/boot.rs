//! `kiln doctor boot`.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use kiln_sandbox::{
    Accelerator, BootEnd, BootReport, FirecrackerConfig, GuestKernel, QemuConfig, probe_kvm,
};
use kiln_store::SystemClock;

use super::super::Context;
use crate::cli::DoctorBoot;
use crate::failure::{Exit, Failure};

/// Boots a kernel and shows what came of it. That a guest has ended its machine by itself is all that is to be had from one
/// that does not know our program; whether it booted is for its serial output to say.
pub(super) fn run(context: &Context<'_>, request: &DoctorBoot) -> Result<Exit, Failure> {
    let broke = |error: &dyn std::error::Error| {
        let failure = Failure::unexpected("it did not boot").because(error);
        if request.programs.jailer.is_some() {
            failure.hint("jails are made in the temporary directory; TMPDIR=DIR in front of the command takes another")
        } else {
            failure
        }
    };
    let kernel = match &request.programs.kernel {
        Some(path) => GuestKernel::at(path),
        None => GuestKernel::find(),
    }
    .map_err(|error| Failure::usage("there is no kernel to boot").because(&error))?;
    let work_dir = tempfile::tempdir()?;
    let patience = Duration::from_secs(request.seconds);
    let clock = SystemClock::new();
    let mut serial = io::stdout().lock();
    let report = match request.backend.as_str() {
        "qemu" => {
            let accelerator = if probe_kvm().works {
                Accelerator::Kvm
            } else {
                Accelerator::Tcg
            };
            let mut config = QemuConfig::new(kernel, accelerator, work_dir.path());
            if let Some(program) = &request.programs.qemu {
                config.program.clone_from(program);
            }
            config.boot(&clock, patience, &mut serial)
        }
        "firecracker" => {
            let usual = || PathBuf::from("firecracker");
            let config = FirecrackerConfig {
                program: request.programs.firecracker.clone().unwrap_or_else(usual),
                jailer: request.programs.jailer.clone(),
                kernel,
                work_dir: work_dir.path().to_owned(),
            };
            config.boot(&clock, patience, &mut serial)
        }
        other => {
            return Err(
                Failure::usage(format!("there is no machine back end {other:?}"))
                    .hint("give --backend firecracker or --backend qemu"),
            );
        }
    };
    drop(serial);
    let report = report.map_err(|error| broke(&error))?;
    Ok(tell(context, &report))
}

fn tell(context: &Context<'_>, report: &BootReport) -> Exit {
    let (how, exit) = match &report.end {
        BootEnd::Up { kernel } => (
            format!("the guest program is up on Linux {kernel}"),
            Exit::Ok,
        ),
        BootEnd::Failed { reason } => (
            format!("the guest program came up and failed: {reason}"),
            Exit::Unexpected,
        ),
        BootEnd::MonitorEnded { status, .. } if status.success() => (
            format!("the guest turned itself off or crashed; its monitor ended with {status}"),
            // What a guest has written before is for its reader to judge. One that wrote nothing may never have started.
            if report.first_output.is_some() {
                Exit::Ok
            } else {
                Exit::Unexpected
            },
        ),
        BootEnd::MonitorEnded { status, complaint } => (
            format!("its monitor failed with {status}: {complaint}"),
            Exit::Unexpected,
        ),
        BootEnd::OutOfTime => (
            "neither the guest program came up nor the monitor ended in time".to_owned(),
            Exit::Unexpected,
        ),
    };
    let first = report.first_output.map_or_else(
        || "no serial output".to_owned(),
        |time| format!("first serial output after {} ms", time.as_millis()),
    );
    let version = report
        .version
        .as_ref()
        .map(|version| format!("its monitor is of version {version}\n"))
        .unwrap_or_default();
    context.terminal.note(&format!(
        "\n{how}\n{version}{first}, end after {} ms",
        report.total.as_millis()
    ));
    exit
}
