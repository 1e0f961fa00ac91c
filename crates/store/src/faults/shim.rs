//! System calls that fail, in a process of their own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use super::process::{self, Said};

const EIO: i32 = rustix::io::Errno::IO.raw_os_error();
const ENOSPC: i32 = rustix::io::Errno::NOSPC.raw_os_error();

/// A system call that fails, on the files whose path holds `file`.
struct Fault {
    operation: &'static str,
    file: &'static str,
    errno: i32,
}

/// Runs a scenario under a fault, checks what it left on disk, and answers what it said.
fn run(scenario: &str, fault: &Fault) -> Vec<Said> {
    let directory = TempDir::new().unwrap();
    let mut command = process::command(scenario, directory.path());
    command
        .env("LD_PRELOAD", shim())
        .env("KILN_FAULT_TRIGGER", process::trigger(directory.path()))
        .env("KILN_FAULT_OPERATION", fault.operation)
        .env("KILN_FAULT_FILE", fault.file)
        .env("KILN_FAULT_ERRNO", fault.errno.to_string());
    let said = process::run(&mut command);
    let acknowledged: BTreeSet<i64> = said.iter().filter_map(Said::acknowledged).collect();
    super::check(directory.path(), &acknowledged);
    said
}

#[test]
fn after_a_failed_fsync_of_the_log_nobody_is_acknowledged_and_the_ledger_stops() {
    let said = run(
        "ledger",
        &Fault {
            operation: "fsync",
            file: "kiln.db-wal",
            errno: EIO,
        },
    );
    assert_eq!(said[..5], [0, 1, 2, 3, 4].map(Said::Acknowledged));
    assert_eq!(said[5..], [Said::Closed(5), Said::Fatal, Said::Closed(6)]);
}

#[test]
fn after_a_failed_write_to_the_log_the_caller_is_told_and_the_ledger_goes_on() {
    for (errno, told) in [(EIO, Said::Io(5)), (ENOSPC, Said::Full(5))] {
        let said = run(
            "ledger",
            &Fault {
                operation: "write",
                file: "kiln.db-wal",
                errno,
            },
        );
        assert_eq!(said[..5], [0, 1, 2, 3, 4].map(Said::Acknowledged));
        assert_eq!(said[5..], [told, Said::Acknowledged(6)]);
    }
}

#[test]
fn a_failed_fsync_of_the_database_stops_the_ledger_and_loses_nothing() {
    let said = run(
        "checkpoint",
        &Fault {
            operation: "fsync",
            file: "kiln.db",
            errno: EIO,
        },
    );
    // The log held what was acknowledged before; the copy back into the database is what failed.
    assert_eq!(
        said,
        [
            Said::Acknowledged(0),
            Said::Acknowledged(1),
            Said::Fatal,
            Said::Closed(2)
        ]
    );
}

#[test]
fn a_failed_write_to_the_database_leaves_all_in_the_log_and_the_ledger_goes_on() {
    let said = run(
        "checkpoint",
        &Fault {
            operation: "write",
            file: "kiln.db",
            errno: EIO,
        },
    );
    assert_eq!(said, [0, 1, 2].map(Said::Acknowledged));
}

#[test]
fn an_object_whose_write_or_fsync_failed_is_not_acknowledged_and_not_visible() {
    for (operation, errno, told) in [
        ("write", EIO, Said::Io(1)),
        ("write", ENOSPC, Said::Full(1)),
        ("fsync", EIO, Said::Io(1)),
    ] {
        let said = run(
            "objects",
            &Fault {
                operation,
                file: "objects",
                errno,
            },
        );
        assert_eq!(
            said,
            [Said::Whole(0), told, Said::Absent(1), Said::Whole(2)],
            "{operation}"
        );
    }
}

/// Compiles the library once per test process, beside the test binary.
fn shim() -> &'static Path {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/faults/shim.c");
        let library = std::env::current_exe()
            .unwrap()
            .with_extension("fault-shim.so");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library)
            .arg(source)
            .arg("-ldl");
        let compiled = compiler
            .output()
            .expect("a C compiler: run `cargo xtask setup`");
        assert!(
            compiled.status.success(),
            "{}",
            String::from_utf8_lossy(&compiled.stderr)
        );
        library
    })
}
