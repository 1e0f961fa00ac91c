//! A machine that was booted once, stopped where its guest waits for orders, and written down.
//!
//! ```text
//! boot ──Up──▶ stop ──▶ state to a file (RAM is one already) ──▶ end
//! each run: same machine, private copy of RAM, state read back, guest goes on where it waited
//! ```
//!
//! The same is done once more for a chamber that runs several times, when that chamber is sealed.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use super::arguments::{Boot, Console, HUB, Hardware, Memory};
use super::backend::Accelerator;
use super::qmp::{Qmp, broken};
use crate::Error;
use crate::guest::Leash;
use crate::link::{Link, socket_pair};
use crate::microvm::{
    BOOT_PATIENCE, HiddenFile, Monitor, Placeholders, Process, Shape, WrittenDown,
};

/// Speaks the monitor protocol on the standard output.
pub(super) const CONTROL: [&str; 4] = [
    "-chardev",
    "socket,id=control,fd=1",
    "-mon",
    "chardev=control,mode=control",
];

/// What a template is made of.
pub(super) struct Recipe<'a> {
    pub(super) program: &'a Path,
    pub(super) accelerator: Accelerator,
    pub(super) boot: Boot<'a>,
    pub(super) work_dir: &'a Path,
}

impl Recipe<'_> {
    pub(super) fn make(&self, shape: Shape) -> Result<WrittenDown, Error> {
        let memory = HiddenFile::in_memory()?;
        memory
            .file()
            .set_len(shape.memory_bytes)
            .map_err(|error| Error::host("cannot make room for a template", error))?;
        let placeholders = Placeholders::create(self.work_dir)?;
        let disks = placeholders.disks();
        let hardware = Hardware {
            accelerator: self.accelerator,
            shape,
            boot: Some(self.boot),
            disks: &disks,
            memory: Memory::Template(&memory.path()),
            // The device is there, and nothing behind it yet.
            tap: None,
        };
        let (ours, guests) = socket_pair()?;
        let (control, monitors) = socket_pair()?;
        let mut command = Leash::default().command(self.program)?;
        command
            .args(hardware.arguments(Console::None))
            .args(CONTROL)
            .stdin(Stdio::from(OwnedFd::from(guests)))
            .stdout(Stdio::from(OwnedFd::from(monitors)));
        let log = HiddenFile::create(self.work_dir)?;
        let mut monitor = Monitor::new(Process::spawn(command, log)?, Link::new(ours)?);
        monitor
            .wait_until_up(BOOT_PATIENCE, None)
            .map_err(|error| monitor.explain(error))?;
        let state = write_down(&mut Qmp::greet(control)?, self.work_dir)?;
        WrittenDown::new(memory, state)
    }
}

/// Stops a machine whose memory is a file, and writes down the rest of it.
pub(super) fn write_down(qmp: &mut Qmp, work_dir: &Path) -> Result<HiddenFile, Error> {
    let state = HiddenFile::create(work_dir)?;
    qmp.execute("stop", &json!({}))?;
    leave_memory_alone(qmp)?;
    let uri = format!("exec:cat > {}", state.path());
    qmp.execute("migrate", &json!({ "uri": uri }))?;
    wait_for_migration(qmp)?;
    Ok(state)
}

/// Connects a restored machine's network, which was to nothing when it was written down, to a tap device.
pub(super) fn plug_in(qmp: &mut Qmp, device: &str) -> Result<(), Error> {
    let tap = json!({
        "type": "tap", "id": "tap", "ifname": device, "script": "no", "downscript": "no", "vnet_hdr": false,
    });
    qmp.execute("netdev_add", &tap)?;
    let port = json!({ "type": "hubport", "id": "port", "hubid": HUB, "netdev": "tap" });
    qmp.execute("netdev_add", &port).map(drop)
}

/// Reads the state back from an open descriptor, and lets the guest go on.
pub(super) fn restore(qmp: &mut Qmp, descriptor: u8) -> Result<(), Error> {
    leave_memory_alone(qmp)?;
    let uri = format!("fd:{descriptor}");
    qmp.execute("migrate-incoming", &json!({ "uri": uri }))?;
    wait_for_migration(qmp)?;
    // It was stopped when it was written down, and still is.
    qmp.execute("cont", &json!({})).map(drop)
}

fn wait_for_migration(qmp: &mut Qmp) -> Result<(), Error> {
    qmp.wait_for("MIGRATION", |data| {
        match data.get("status").and_then(Value::as_str) {
            Some("completed") => Some(Ok(())),
            Some("failed") => Some(Err(broken("it could not move the machine's state"))),
            _ => None,
        }
    })
}

/// The guest's memory is a file and need not be written or read.
fn leave_memory_alone(qmp: &mut Qmp) -> Result<(), Error> {
    let on = |name: &str| json!({ "capability": name, "state": true });
    qmp.execute(
        "migrate-set-capabilities",
        &json!({ "capabilities": [on("events"), on("x-ignore-shared")] }),
    )
    .map(drop)
}
