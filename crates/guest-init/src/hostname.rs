//! The chamber's name, and what it needs to know its own address by.

use std::fs::File;
use std::io::Write;

use kiln_guest_init::protocol::Stage;
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::fault::{At, Fault};

const HOSTS: &[u8] = b"127.0.0.1\tlocalhost\n::1\tlocalhost\n";

/// Sets the host name.
pub(crate) fn set(name: &str) -> Result<(), Fault> {
    rustix::system::sethostname(name.as_bytes()).at(Stage::Hostname, || {
        format!("cannot set the host name {name:?}")
    })
}

/// Gives an image without `/etc/hosts` one that knows `localhost`.
pub(crate) fn add_hosts() -> Result<(), Fault> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    // An image without /etc, or with its own hosts file, is left as it is.
    if let Ok(file) = openat(CWD, "/etc/hosts", flags, Mode::from_raw_mode(0o644)) {
        File::from(file)
            .write_all(HOSTS)
            .at(Stage::Hostname, || "cannot write /etc/hosts".into())?;
    }
    Ok(())
}

/// Names the servers to ask, whatever the image says. An image without `/etc` has nobody who would look there.
pub(crate) fn set_resolver(file: &str) -> Result<(), Fault> {
    const PATH: &str = "/etc/resolv.conf";
    if file.is_empty() {
        return Ok(());
    }
    // It may be a link, and it may be missing.
    let _ = std::fs::remove_file(PATH);
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    if let Ok(made) = openat(CWD, PATH, flags, Mode::from_raw_mode(0o644)) {
        File::from(made)
            .write_all(file.as_bytes())
            .at(Stage::Hostname, || format!("cannot write {PATH}"))?;
    }
    Ok(())
}
