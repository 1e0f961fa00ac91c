//! The kernel of the machines that tests boot: fetched and unpacked, never installed, so that the host's own boot is left
//! alone.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::cargo::{run, show};
use crate::failure::Failure;

const PACKAGE: &str = if cfg!(target_arch = "aarch64") {
    "linux-image-cloud-arm64"
} else {
    "linux-image-cloud-amd64"
};

/// Where `kiln` looks for a kernel first.
fn directory() -> Option<PathBuf> {
    Some(PathBuf::from(env::var_os("HOME")?).join(".local/share/kiln/kernel"))
}

pub(super) fn is_there() -> bool {
    let boot = directory().map(|directory| directory.join("boot"));
    boot.and_then(|boot| fs::read_dir(boot).ok())
        .is_some_and(|entries| {
            entries
                .flatten()
                .any(|entry| entry.file_name().to_string_lossy().starts_with("vmlinuz-"))
        })
}

/// Fetches the package that holds the kernel, and unpacks it.
pub(super) fn fetch() -> Result<(), Failure> {
    let directory = directory().ok_or_else(|| Failure::Failed("HOME is not set".to_owned()))?;
    let failed = |error: std::io::Error| {
        Failure::Failed(format!(
            "cannot unpack a kernel into {}: {error}",
            directory.display()
        ))
    };
    let package = versioned_package()?;
    fs::create_dir_all(&directory).map_err(failed)?;
    let mut download = Command::new("apt-get");
    download
        .args(["download", &package])
        .current_dir(&directory);
    println!("+ {}", show(&download));
    run(&mut download)?;
    let archives: Vec<PathBuf> = fs::read_dir(&directory)
        .map_err(failed)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .collect();
    for archive in archives {
        let mut extract = Command::new("dpkg-deb");
        extract.arg("--extract").arg(&archive).arg(&directory);
        println!("+ {}", show(&extract));
        run(&mut extract)?;
        fs::remove_file(&archive).map_err(failed)?;
    }
    Ok(())
}

/// The package that the one without a version depends on.
fn versioned_package() -> Result<String, Failure> {
    let output = Command::new("apt-cache")
        .args(["depends", "--important", PACKAGE])
        .output();
    output
        .ok()
        .and_then(|output| dependency(&String::from_utf8_lossy(&output.stdout)))
        .ok_or_else(|| {
            Failure::Failed(format!(
                "cannot find the package {PACKAGE}: unpack any Linux kernel and its modules below ~/.local/share/kiln/kernel"
            ))
        })
}

fn dependency(listing: &str) -> Option<String> {
    listing
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: linux-image-"))
        .map(|rest| format!("linux-image-{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versioned_package_is_read_from_aptscache() {
        let listing = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-1-cloud-amd64\n";
        assert_eq!(
            dependency(listing).as_deref(),
            Some("linux-image-6.1.0-1-cloud-amd64")
        );
        assert_eq!(dependency("N: Unable to locate package\n"), None);
    }
}
