//! Landlock: a second fence around the file system for kernels that have it.
//!
//! The chamber's mounts already decide what exists. Landlock adds that the command makes no device nodes, drives no
//! device outside `/dev`, and signals nobody outside its own tree, PID 1 included.

use std::os::fd::AsFd;

use kiln_guest_init::protocol::{Layer, Stage};
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::fault::{At, Fault};
use crate::sys::Ruleset;

const MAKE_CHAR: u64 = 1 << 6;
const MAKE_BLOCK: u64 = 1 << 11;
const IOCTL_DEV: u64 = 1 << 15;

/// Abstract Unix sockets and signals stay inside.
const SCOPES: u64 = 0b11;

/// The rules and how to report them; no rules where the kernel has none.
pub(crate) fn plan() -> Result<(Option<Ruleset>, Layer), Fault> {
    let abi = match Ruleset::abi() {
        Ok(abi) => abi,
        Err(error) => {
            return Ok((
                None,
                Layer::missing("landlock", format!("the kernel has none: {error}")),
            ));
        }
    };
    let handled = file_system_rights(abi);
    let scopes = if abi >= 6 { SCOPES } else { 0 };
    let rules = Ruleset::new(abi, handled, scopes)
        .at(Stage::Landlock, || "cannot make a ruleset".into())?;
    allow(&rules, "/", handled & !(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV))?;
    if handled & IOCTL_DEV != 0 {
        allow(&rules, "/dev", IOCTL_DEV)?;
    }
    Ok((
        Some(rules),
        Layer::applied("landlock", format!("abi {abi}")),
    ))
}

/// Every file system right this version of Landlock knows.
const fn file_system_rights(abi: u32) -> u64 {
    let rights = match abi {
        0 | 1 => 13,
        2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    (1 << rights) - 1
}

fn allow(rules: &Ruleset, path: &str, rights: u64) -> Result<(), Fault> {
    let directory = openat(
        CWD,
        path,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .at(Stage::Landlock, || format!("cannot open {path}"))?;
    rules
        .allow_beneath(directory.as_fd(), rights)
        .at(Stage::Landlock, || format!("cannot make a rule for {path}"))
}
