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
const NETWORK_SOURCE: &str = include_str!("network.c");

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
    let key = (
        APPLETS,
        ATTEMPT_SOURCE,
        NETWORK_SOURCE,
        fs::metadata(busybox).unwrap().len(),
    );
    make_once("base", &key, |base| fill(base, busybox))
}

/// A base of this name, whose content is decided by the key. It stays for the next time.
pub(crate) fn make_once(name: &str, key: &impl Hash, fill: impl FnOnce(&Path)) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let place = std::env::var_os(PLACE)
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let base = place.join(format!("{name}-{:016x}", hasher.finish()));
    if !base.exists() {
        let making = tempfile::tempdir_in(&place).unwrap();
        fill(making.path());
        // Anyone may read the root of an image.
        fs::set_permissions(making.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // Another process may have been faster; its base is as good.
        if fs::rename(making.path(), &base).is_ok() {
            let _ = making.keep();
        }
    }
    base
}

fn fill(base: &Path, busybox: &str) {
    for directory in ["bin", "etc", "tmp"] {
        fs::create_dir(base.join(directory)).unwrap();
    }
    fs::copy(busybox, base.join("bin/busybox")).unwrap();
    for applet in APPLETS.split_ascii_whitespace() {
        symlink("busybox", base.join("bin").join(applet)).unwrap();
    }
    // A program that makes any system call, for the calls no ordinary program makes.
    run_compiler(ATTEMPT_SOURCE, &base.join("bin/attempt"), &["-static"]);
    run_compiler(NETWORK_SOURCE, &base.join("bin/network"), &["-static"]);
    fs::write(base.join("etc/release"), "base\n").unwrap();
    // Like other images: anyone may write to `/tmp`.
    fs::set_permissions(base.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
}

/// Makes a program of a text in C.
pub(crate) fn run_compiler(text: &str, program: &Path, flags: &[&str]) {
    let source = program.with_extension("c");
    fs::write(&source, text).unwrap();
    let compiled = Command::new("cc")
        .args(flags)
        .arg("-o")
        .args([program, &source])
        .status()
        .unwrap();
    assert!(
        compiled.success(),
        "cc cannot link a program: run `cargo xtask setup`"
    );
    fs::remove_file(source).unwrap();
}
