//! Firecracker's jailer: a root, a user and a process tree for each machine.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Host ids above those of namespace chambers, far from any real user.
const FIRST_ID: u32 = 0x7400_0000;

/// Machines that may run side by side without sharing a host id.
const IDS: u32 = 1 << 16;

/// The user and group of one machine's monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inmate {
    pub(super) id: u32,
}

impl Inmate {
    pub(super) fn fresh() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Another process of ours starts elsewhere.
        let start = std::process::id().wrapping_mul(61);
        let number = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % IDS;
        Self {
            id: FIRST_ID + number,
        }
    }
}

/// The jailer's arguments; what follows them is Firecracker's. It makes its root at `base`/program's name/`name`/root.
pub(super) fn arguments(program: &Path, name: &str, inmate: Inmate, base: &Path) -> Vec<OsString> {
    let id = OsString::from(inmate.id.to_string());
    vec![
        "--id".into(),
        name.into(),
        "--exec-file".into(),
        program.into(),
        "--uid".into(),
        id.clone(),
        "--gid".into(),
        id,
        "--chroot-base-dir".into(),
        base.into(),
        "--".into(),
    ]
}
