//! Loading the kernel modules that the host put into the initial file system.

use std::fs;
use std::io;
use std::path::PathBuf;

use kiln_guest_init::protocol::{Stage, machine};
use rustix::io::Errno;
use rustix::system::finit_module;

use crate::fault::{At, Fault};

/// The driver of the disks. It is loaded after all others, and looks at no disk before it is told to.
const DISK_DRIVER: &str = "virtio_blk.ko";

/// Loads everything but the driver of the disks.
pub(super) fn load_for_channel() -> Result<(), Fault> {
    load(|name| !name.ends_with(DISK_DRIVER))
}

/// Loads the driver of the disks without letting it look at them: a machine that is restored from a template finds
/// disks of another size than the template had.
pub(super) fn load_for_disks() -> Result<(), Fault> {
    fs::write("/sys/bus/virtio/drivers_autoprobe", "0")
        .at(Stage::Boot, || "the kernel has no virtio bus".into())?;
    load(|name| name.ends_with(DISK_DRIVER))
}

fn load(wanted: impl Fn(&str) -> bool) -> Result<(), Fault> {
    let mut modules: Vec<PathBuf> = match fs::read_dir(machine::MODULES) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        // A kernel with everything built in comes without modules.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).at(Stage::Boot, || "cannot list the modules".into()),
    };
    modules.sort();
    for path in modules {
        let name = path.to_string_lossy();
        if !wanted(&name) {
            continue;
        }
        let file = fs::File::open(&path).at(Stage::Boot, || format!("cannot open {name}"))?;
        match finit_module(&file, c"", 0) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno).at(Stage::Boot, || format!("cannot load {name}")),
        }
    }
    Ok(())
}
