//! Loading the kernel modules that the host put into the initial file system.

use std::fs;
use std::io;
use std::path::PathBuf;

use kiln_guest_init::protocol::{Stage, machine};
use rustix::io::Errno;
use rustix::system::finit_module;

use crate::fault::{At, Fault};

pub(super) fn load_all() -> Result<(), Fault> {
    let mut modules: Vec<PathBuf> = match fs::read_dir(machine::MODULES) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        // A kernel with everything built in comes without modules.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).at(Stage::Boot, || "cannot list the modules".into()),
    };
    modules.sort();
    for path in modules {
        let name = path.to_string_lossy();
        let file = fs::File::open(&path).at(Stage::Boot, || format!("cannot open {name}"))?;
        match finit_module(&file, c"", 0) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno).at(Stage::Boot, || format!("cannot load {name}")),
        }
    }
    Ok(())
}
