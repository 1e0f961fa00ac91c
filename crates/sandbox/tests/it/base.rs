//! A root file system made of busybox, which all tests share and none changes.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const APPLETS: &str = "cat cut dd echo env grep head hostname id ifconfig kill ln ls mkdir mkfifo mknod nc pwd rm setsid \
                       sh sleep stat tail touch tr true unshare wc yes";

const ATTEMPT_SOURCE: &str = include_str!("attempt.c");

/// Where to put the base instead of the build's own directory, for tests of other file systems.
pub(crate) const PLACE: &str = "KILN_TEST_BASE_PLACE";

/// The base directory. It stays for the next time.
pub(crate) fn base() -> &'static Path {
    static BASE: OnceLock<PathBuf> = OnceLock::new();
    BASE.get_or_init(find_or_make)
}

fn find_or_make() -> PathBuf {
    let busybox = ["/bin/busybox", "/usr/bin/busybox"]
        .into_iter()
        .find(|path| Path::new(path).exists())
        .expect("busybox-static is not installed: run `cargo xtask setup`");
    let place = std::env::var_os(PLACE)
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let base = place.join(format!("base-{:016x}", key(busybox)));
    if !base.exists() {
        let making = tempfile::tempdir_in(&place).unwrap();
        fill(making.path(), busybox);
        // Another process may have been faster; its base is as good.
        if fs::rename(making.path(), &base).is_ok() {
            let _ = making.keep();
        }
    }
    base
}

/// What decides the base's content.
fn key(busybox: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (
        APPLETS,
        ATTEMPT_SOURCE,
        fs::metadata(busybox).unwrap().len(),
    )
        .hash(&mut hasher);
    hasher.finish()
}

fn fill(base: &Path, busybox: &str) {
    for directory in ["bin", "etc", "tmp"] {
        fs::create_dir(base.join(directory)).unwrap();
    }
    fs::copy(busybox, base.join("bin/busybox")).unwrap();
    for applet in APPLETS.split_ascii_whitespace() {
        symlink("busybox", base.join("bin").join(applet)).unwrap();
    }
    build_attempt(base);
    fs::write(base.join("etc/release"), "base\n").unwrap();
    // Like other images: anyone may read the root and write to `/tmp`.
    for (directory, mode) in [("", 0o755), ("tmp", 0o1777)] {
        fs::set_permissions(base.join(directory), fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// A program that makes any system call, for the calls no ordinary program makes.
fn build_attempt(base: &Path) {
    let source = base.join("attempt.c");
    fs::write(&source, ATTEMPT_SOURCE).unwrap();
    let compiled = Command::new("cc")
        .arg("-static")
        .arg("-o")
        .arg(base.join("bin/attempt"))
        .arg(&source)
        .status()
        .unwrap();
    assert!(
        compiled.success(),
        "cc cannot link statically: run `cargo xtask setup`"
    );
    fs::remove_file(source).unwrap();
}
