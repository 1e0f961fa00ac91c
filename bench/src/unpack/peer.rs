//! What a user would pick instead. Programs of Debian, as they are.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Unpacker;
use super::image::TAG;
use crate::failure::Failure;

pub(super) struct Umoci {
    image: String,
}

impl Umoci {
    pub(super) fn of(layout: &Path) -> Self {
        Self {
            image: format!("{}:{TAG}", layout.display()),
        }
    }
}

impl Unpacker for Umoci {
    fn name(&self) -> &'static str {
        "umoci unpack"
    }

    fn unpack(&mut self, to: &Path) -> Result<(), Failure> {
        let mut umoci = Command::new("umoci");
        umoci.args(["unpack", "--image", &self.image]);
        if !rustix::process::geteuid().is_root() {
            umoci.arg("--rootless");
        }
        run(umoci.arg(to))
    }
}

pub(super) struct Podman {
    /// It names an image after its path, and takes no name with capitals, which temporary directories have.
    above: PathBuf,
    image: String,
}

impl Podman {
    pub(super) fn of(layout: &Path) -> Self {
        let name = layout.file_name().unwrap_or_default();
        Self {
            above: layout.parent().unwrap_or(layout).to_owned(),
            image: format!("oci:{}:{TAG}", name.display()),
        }
    }
}

impl Unpacker for Podman {
    fn name(&self) -> &'static str {
        "podman pull from the same layout"
    }

    fn unpack(&mut self, to: &Path) -> Result<(), Failure> {
        let mut podman = Command::new("podman");
        podman.arg("--root").arg(to.join("root"));
        podman.arg("--runroot").arg(to.join("run"));
        podman.current_dir(&self.above);
        run(podman.args(["pull", "--quiet", &self.image]))
    }

    fn tidy_up(&mut self, to: &Path) {
        // Its storage stays mounted on itself, sometimes twice and sometimes still in use; where it does not, there is
        // nothing to undo.
        let mounted = to.join("root/overlay");
        let is_undone = || {
            let undone = Command::new("umount").arg("--lazy").arg(&mounted).output();
            undone.is_ok_and(|output| output.status.success())
        };
        while is_undone() {}
    }
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| {
        Failure::io(
            format!("run {program}; `cargo xtask setup` installs it"),
            source,
        )
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Wrong(format!("{program}: {}", said.trim())))
}
