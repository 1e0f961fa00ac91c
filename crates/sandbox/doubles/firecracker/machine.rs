//! The machine as far as its configuration goes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

use super::http::Fault;
use super::trouble::Trouble;
use super::{VERSION, end, guest, say, vsock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    NotStarted,
    Running,
    Paused,
}

#[derive(Debug)]
pub(super) struct Machine {
    id: String,
    pub(super) state: State,
    pub(super) parts: Parts,
    /// Bound when the device is made, and served from the start on.
    vsock: Option<UnixListener>,
}

/// What it was given.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// By the paths of the requests.
    pub(super) requests: BTreeMap<String, Value>,
    /// What the guest has in its memory: the program that was in its initial file system.
    pub(super) program: Vec<u8>,
}

impl Parts {
    pub(super) fn text(&self, path: &str, field: &str) -> Option<String> {
        self.requests
            .get(path)?
            .get(field)?
            .as_str()
            .map(str::to_owned)
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        let size = self.requests.get("/machine-config");
        let mebibytes = size.and_then(|config| config["mem_size_mib"].as_u64());
        mebibytes.unwrap_or(128) << 20
    }
}

impl Machine {
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            state: State::NotStarted,
            parts: Parts::default(),
            vsock: None,
        }
    }

    pub(super) fn describe(&self) -> Value {
        let state = match self.state {
            State::NotStarted => "Not started",
            State::Running => "Running",
            State::Paused => "Paused",
        };
        json!({
            "app_name": "Firecracker",
            "id": self.id,
            "state": state,
            "vmm_version": VERSION,
        })
    }

    /// Takes one part, and opens its files as Firecracker does at once.
    pub(super) fn take(&mut self, path: &str, body: Value) -> Result<(), Fault> {
        if self.state != State::NotStarted {
            return Err(
                "The requested operation is not supported after starting the microVM.".to_owned(),
            );
        }
        match path {
            "/machine-config" => check_shape(&body)?,
            "/boot-source" => {
                for file in ["kernel_image_path", "initrd_path"] {
                    if let Some(path) = body[file].as_str() {
                        open(path, false)?;
                    }
                }
            }
            "/vsock" => self.vsock = Some(bind(&body)?),
            _ if path.starts_with("/drives/") => open_drive(path, &body)?,
            _ => {}
        }
        self.parts.requests.insert(path.to_owned(), body);
        Ok(())
    }

    pub(super) fn start(&mut self) -> Result<(), Fault> {
        if self.state != State::NotStarted {
            return Err("The microVM is already running.".to_owned());
        }
        if !self.parts.requests.contains_key("/boot-source") {
            return Err("Cannot start microvm without kernel configuration.".to_owned());
        }
        if let Some(initramfs) = self.parts.text("/boot-source", "initrd_path") {
            self.parts.program = guest::program_in(&initramfs)
                .map_err(|error| format!("Cannot load the initrd: {error}"))?;
        }
        // The serial line is the monitor's standard output.
        say("booting a double\n");
        self.run();
        if Trouble::of_this_program() == Trouble::Halt {
            // In its own time: before or after its start is confirmed.
            std::thread::spawn(|| end(0));
        }
        Ok(())
    }

    /// Becomes the machine of a snapshot, stopped.
    pub(super) fn restore(&mut self, parts: Parts) -> Result<(), Fault> {
        if self.state != State::NotStarted || !self.parts.requests.is_empty() {
            return Err(
                "Loading a microVM snapshot not allowed after configuring boot-specific resources."
                    .to_owned(),
            );
        }
        for (path, body) in &parts.requests {
            if path.starts_with("/drives/") {
                open_drive(path, body)?;
            }
        }
        self.vsock = parts.requests.get("/vsock").map(bind).transpose()?;
        vsock::reset();
        self.parts = parts;
        self.state = State::Paused;
        Ok(())
    }

    pub(super) fn pause(&mut self) -> Result<(), Fault> {
        self.check_started()?;
        self.state = State::Paused;
        vsock::pause();
        Ok(())
    }

    pub(super) fn resume(&mut self) -> Result<(), Fault> {
        self.check_started()?;
        self.run();
        Ok(())
    }

    fn check_started(&self) -> Result<(), Fault> {
        match self.state {
            State::NotStarted => Err(
                "The requested operation is not supported before starting the microVM.".to_owned(),
            ),
            State::Running | State::Paused => Ok(()),
        }
    }

    fn run(&mut self) {
        self.state = State::Running;
        vsock::resume();
        if let Some(listener) = self.vsock.take() {
            vsock::serve(listener, self.parts.clone());
        }
    }
}

fn check_shape(body: &Value) -> Result<(), Fault> {
    let cpus = body["vcpu_count"].as_u64().unwrap_or(0);
    if !(1..=32).contains(&cpus) || body["mem_size_mib"] == 0 {
        return Err("The vCPU number is invalid! The memory size is invalid!".to_owned());
    }
    Ok(())
}

fn open_drive(path: &str, body: &Value) -> Result<(), Fault> {
    if path.strip_prefix("/drives/") != body["drive_id"].as_str() {
        return Err("The id from the path does not match the id from the body!".to_owned());
    }
    let is_read_only = body["is_read_only"].as_bool().unwrap_or(false);
    open(
        body["path_on_host"].as_str().unwrap_or_default(),
        !is_read_only,
    )
    .map(drop)
}

fn bind(body: &Value) -> Result<UnixListener, Fault> {
    if body["guest_cid"].as_u64().is_none_or(|cid| cid < 3) {
        return Err("guest_cid: invalid value".to_owned());
    }
    let path = body["uds_path"].as_str().unwrap_or_default();
    UnixListener::bind(path)
        .map_err(|error| format!("Cannot create backend for vsock device: {path}: {error}"))
}

/// Opens a file as the user that Firecracker would be, whatever else this double may do.
fn open(path: &str, for_writing: bool) -> Result<File, Fault> {
    use std::os::unix::fs::MetadataExt as _;
    const OWNER_WRITES: u32 = 0o200;
    const OTHERS_READ: u32 = 0o004;
    let refuse = |error: &dyn std::fmt::Display| format!("Unable to open {path}: {error}");
    let file = OpenOptions::new()
        .read(true)
        .write(for_writing)
        .open(path)
        .map_err(|error| refuse(&error))?;
    let found = file.metadata().map_err(|error| refuse(&error))?;
    let user = rustix::process::geteuid().as_raw();
    let owns = found.uid() == user || user == 0;
    let may = if for_writing {
        owns && found.mode() & OWNER_WRITES != 0
    } else {
        owns || found.mode() & OTHERS_READ != 0
    };
    if may {
        Ok(file)
    } else {
        Err(refuse(&"Permission denied"))
    }
}
