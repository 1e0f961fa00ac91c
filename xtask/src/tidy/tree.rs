//! The files of this checkout.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::cargo::{cargo, root};

#[derive(Debug)]
pub(super) struct File {
    /// From the top of the checkout.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl File {
    /// Whether all of it is tests, as everything under `tidy` is.
    pub(super) fn is_test(&self) -> bool {
        let named = |name: &str| self.path.components().any(|part| part.as_os_str() == name);
        named("tests") || named("tests.rs") || named("tidy")
    }

    /// The lines before the test module, which our style puts last.
    pub(super) fn lines_of_code(&self) -> impl Iterator<Item = &str> {
        let code = self.text.split("\n#[cfg(test)]\nmod tests").next();
        code.unwrap_or_default().lines()
    }
}

/// Every text file with one of these extensions.
pub(super) fn files(extensions: &[&str]) -> Vec<File> {
    let mut paths = Vec::new();
    walk(root(), &mut paths);
    paths.sort();
    let wanted = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    };
    paths.retain(|path| wanted(path));
    assert!(
        !paths.is_empty(),
        "the checkout has files of {extensions:?}"
    );
    paths.iter().map(read).collect()
}

/// What `cargo metadata` says with these arguments.
pub(super) fn metadata(arguments: &[&str]) -> Value {
    let mut command = cargo(["metadata", "--format-version", "1"]);
    let output = command.args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The platform that rustc builds for when it is not told otherwise.
pub(super) fn host_platform() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

/// Hidden directories are other programs' business, but for our own two.
fn walk(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type().unwrap();
        let ours = !name.starts_with('.') || [".cargo", ".ci", ".config"].contains(&&*name);
        if kind.is_dir() && ours && !["target", "node_modules"].contains(&&*name) {
            walk(&entry.path(), paths);
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
}

fn read(path: &PathBuf) -> File {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let path = path.strip_prefix(root()).unwrap().to_owned();
    File { path, text }
}
