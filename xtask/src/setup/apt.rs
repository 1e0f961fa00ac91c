//! Installing Debian packages.

use std::path::Path;
use std::process::Command;

use super::probe::find_program;
use crate::cargo::{run, show};
use crate::failure::Failure;

pub(super) fn install(packages: &[&str]) -> Result<(), Failure> {
    let list = packages.join(" ");
    if !Path::new("/etc/debian_version").exists() || find_program("apt-get").is_none() {
        return Err(Failure::Failed(format!(
            "this is not a Debian machine: install what Debian calls {list}, then run this again"
        )));
    }
    let as_root = is_root();
    if !as_root && find_program("sudo").is_none() {
        return Err(Failure::Failed(format!(
            "neither root nor sudo: run, as root, apt-get install {list}"
        )));
    }
    println!("\nInstalling: {list}");
    apt_get(as_root, &["update"])?;
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend(packages);
    apt_get(as_root, &arguments)
}

fn apt_get(as_root: bool, arguments: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new(if as_root { "env" } else { "sudo" });
    // Given as words, because sudo does not pass an environment on.
    command
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get"])
        .args(arguments);
    println!("+ {}", show(&command));
    run(&mut command)
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
