//! Compiles the benchmark of `kiln demo` as a static program, so that the demo needs nothing but this binary.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=demo/benchmark.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("demo-benchmark");
    let rustc = env::var_os("RUSTC").expect("cargo sets it");
    let target = env::var("TARGET").expect("cargo sets it");
    let status = Command::new(rustc)
        .args([
            "--edition=2024",
            "-O",
            "-Cstrip=symbols",
            "-Ctarget-feature=+crt-static",
        ])
        .args(["--target", &target, "-o"])
        .arg(&out)
        .arg("demo/benchmark.rs")
        .status()
        .expect("the compiler that builds this crate can be run");
    assert!(status.success(), "the demo's benchmark does not compile");
}
