//! The way to the host: a virtio-serial port where the machine has one, else vsock.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use kiln_guest_init::protocol::{Stage, machine};
use rustix::event::{Timespec, poll};

use crate::fault::{At, Fault};
use crate::sys;

const DEVICES: &str = "/sys/bus/virtio/devices";
const PORTS: &str = "/sys/class/virtio-ports";

/// A serial device's number among virtio devices.
const SERIAL_DEVICE: &str = "0x0003";

/// The kernel makes a port's node a moment after its driver is loaded.
const ATTEMPTS: u32 = 10_000;
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

#[derive(Debug)]
pub(super) struct Channel {
    stream: File,
    /// Where the host can come back; a serial port is always connected.
    listener: Option<OwnedFd>,
}

impl Channel {
    pub(super) fn open() -> Result<Self, Fault> {
        if !has_serial_device() {
            return Self::open_vsock();
        }
        for _ in 0..ATTEMPTS {
            if let Some(name) = port() {
                return File::options()
                    .read(true)
                    .write(true)
                    .open(format!("/dev/{name}"))
                    .map(|stream| Self {
                        stream,
                        listener: None,
                    })
                    .at(Stage::Boot, || format!("cannot open {name}"));
            }
            // Interrupted or not, the next attempt follows.
            let _ = poll(&mut [], Some(&PAUSE));
        }
        Err(Fault::new(
            Stage::Boot,
            "the virtio-serial port to the host is missing",
        ))
    }

    fn open_vsock() -> Result<Self, Fault> {
        let listener = sys::listen_on_vsock(machine::VSOCK_PORT).at(Stage::Boot, || {
            "the machine has neither a virtio-serial port nor vsock".into()
        })?;
        Ok(Self {
            stream: accept(&listener)?,
            listener: Some(listener),
        })
    }

    /// Waits for the host to come back after it has hung up. `false` means that it cannot.
    pub(super) fn wait_again(&mut self) -> Result<bool, Fault> {
        let Some(listener) = &self.listener else {
            return Ok(false);
        };
        self.stream = accept(listener)?;
        Ok(true)
    }
}

fn accept(listener: &OwnedFd) -> Result<File, Fault> {
    loop {
        match sys::accept(listener) {
            // One that a restore has reset before it was taken.
            Err(error) if super::is_hang_up(&error) => {}
            result => {
                return result
                    .map(File::from)
                    .at(Stage::Boot, || "cannot take the host's connection".into());
            }
        }
    }
}

impl Read for Channel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Gives the host a moment to take the last words: the end of the machine loses what it has not taken.
pub(super) fn linger() {
    let patience = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    // Interrupted or not, the machine ends now.
    let _ = poll(&mut [], Some(&patience));
}

/// Whether the machine has a virtio-serial device: a kernel has the driver with or without one.
fn has_serial_device() -> bool {
    fs::read_dir(DEVICES)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| {
            fs::read_to_string(entry.path().join("device"))
                .is_ok_and(|kind| kind.trim_end() == SERIAL_DEVICE)
        })
}

/// The node of the port with our name.
fn port() -> Option<String> {
    fs::read_dir(PORTS)
        .ok()?
        .flatten()
        .find(|entry| {
            fs::read_to_string(entry.path().join("name"))
                .is_ok_and(|name| name.trim_end() == machine::PORT_NAME)
        })
        .and_then(|entry| entry.file_name().into_string().ok())
}
