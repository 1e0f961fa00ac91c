//! Finding out by running a guest, never by opening a device.

use std::io::Read as _;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::{Check, guest};

const DEVICE: &str = "/dev/kvm";

/// A processor runs the probe's few instructions in microseconds.
const DEADLINE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Runs a tiny guest in a process of its own, which is killed at a deadline.
pub fn probe_kvm() -> Check {
    if !Path::new(DEVICE).exists() {
        return no(
            format!("{DEVICE} does not exist"),
            "load the module (modprobe kvm_intel or kvm_amd), or allow nested virtualisation for this machine",
        );
    }
    if cfg!(not(target_arch = "x86_64")) {
        return Check {
            works: false,
            detail: "there is a device, but nothing to prove it with on this kind of processor"
                .to_owned(),
            fix: None,
        };
    }
    match run_guest() {
        Ok(()) => Check {
            works: true,
            detail: "a tiny guest ran: long mode, an interrupt, and back".to_owned(),
            fix: None,
        },
        Err(reason) if reason.contains("Permission denied") => no(
            format!("{DEVICE}: {reason}"),
            "let this user use it: usermod -aG kvm \"$USER\", and log in again",
        ),
        Err(reason) => no(
            reason,
            "use a host with hardware virtualisation, or one whose nested virtualisation is the processor's",
        ),
    }
}

fn run_guest() -> Result<(), String> {
    let mut child = guest::command("kvm")
        .map_err(|error| error.to_string())?
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let in_time = wait(&child);
    if !in_time {
        // It may have ended just now, which changes nothing.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if !in_time {
        return Err("a tiny guest did not end within a second".to_owned());
    }
    if status.success() {
        return Ok(());
    }
    let mut reason = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        // Without words there is still the status.
        let _ = stdout.read_to_string(&mut reason);
    }
    if reason.is_empty() {
        reason = format!("a tiny guest took its monitor with it: {status}");
    }
    Err(reason)
}

/// Whether the process ends before the deadline.
fn wait(child: &Child) -> bool {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return false;
    };
    pidfd_open(pid, PidfdFlags::empty()).is_ok_and(|process| {
        let mut fds = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
        poll(&mut fds, Some(&DEADLINE)).is_ok_and(|ready| ready > 0)
    })
}

fn no(detail: String, fix: &str) -> Check {
    Check {
        works: false,
        detail,
        fix: Some(fix.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_comes_to_an_end_and_says_why() {
        let check = probe_kvm();
        assert!(!check.detail.is_empty());
        assert!(check.works || check.fix.is_some() || cfg!(not(target_arch = "x86_64")));
    }
}
