//! Builds the static `kiln-guest-init` that the library embeds, so that one `cargo build` makes a whole runner.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const GUEST: &str = "kiln-guest-init";

fn main() {
    let manifest_dir = directory("CARGO_MANIFEST_DIR");
    let workspace = manifest_dir.join("../..");
    for input in [
        "crates/guest-init/src",
        "crates/guest-init/Cargo.toml",
        "Cargo.toml",
        "Cargo.lock",
    ] {
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join(input).display()
        );
    }
    let program = build_guest(&workspace, &directory("OUT_DIR").join("guest"));
    println!("cargo::rustc-env=KILN_GUEST_INIT={}", program.display());
}

fn build_guest(workspace: &Path, target_dir: &Path) -> PathBuf {
    let target = env::var("TARGET").expect("cargo names the target");
    let cargo = env::var_os("CARGO").expect("cargo names itself");
    let mut command = Command::new(cargo);
    command
        .args([
            "build",
            "--release",
            "--package",
            GUEST,
            "--bin",
            GUEST,
            "--target",
            &target,
        ])
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target_dir)
        // Only this program is static: the flags of the surrounding build, its wrappers (clippy is one) and its
        // coverage or sanitizers are not for the guest.
        .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s")
        .env("CARGO_PROFILE_RELEASE_LTO", "true")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    for variable in [
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_TARGET",
        "CLIPPY_ARGS",
    ] {
        command.env_remove(variable);
    }
    let status = command.status().expect("cargo runs, since it runs us");
    assert!(status.success(), "building {GUEST} failed: {status}");
    target_dir.join(target).join("release").join(GUEST)
}

fn directory(variable: &str) -> PathBuf {
    PathBuf::from(env::var_os(variable).expect("cargo sets the directories of a build script"))
}
