//! Booting a machine without a job.

use std::time::Duration;

use kiln_sandbox::{Accelerator, BootEnd, GuestKernel, QemuConfig};

use crate::support::HostClock;

#[test]
fn a_booted_kernel_shows_its_serial_output_and_our_guest_comes_up() {
    let kernel = GuestKernel::find().expect("no guest kernel: run `cargo xtask setup`");
    let release = kernel.release().unwrap().to_owned();
    let config = QemuConfig::new(kernel, Accelerator::Tcg, env!("CARGO_TARGET_TMPDIR"));
    let mut serial = Vec::new();
    let report = config
        .boot(&*HostClock::new(), Duration::from_mins(2), &mut serial)
        .unwrap();
    assert_eq!(report.end, BootEnd::Up { kernel: release });
    assert!(report.first_output.is_some());
    assert!(String::from_utf8_lossy(&serial).contains("Linux version"));
}

#[test]
fn a_monitor_that_cannot_be_run_says_why() {
    let kernel = GuestKernel::at("/bin/busybox").unwrap();
    let mut config = QemuConfig::new(kernel, Accelerator::Tcg, env!("CARGO_TARGET_TMPDIR"));
    config.program = "/no/such/qemu".into();
    let report = config
        .boot(&*HostClock::new(), Duration::from_mins(2), &mut Vec::new())
        .unwrap();
    let BootEnd::MonitorEnded { status, complaint } = report.end else {
        panic!("{report:?}");
    };
    assert!(!status.success());
    assert!(
        complaint.contains("cannot run /no/such/qemu"),
        "{complaint}"
    );
}
