//! Root file systems with one program and nothing else: no shell, no `/etc`, no `/tmp`, not even the directories that a
//! chamber mounts on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::base::{make_once, run_compiler};

/// The program, as a path in the chamber.
pub(crate) const PROGRAM: &str = "/app";

const SOURCE: &str = r#"
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words) {
    FILE *out = fopen("/out", "w");
    if (!out || access("/bin", F_OK) == 0) return 1;
    fprintf(out, "%s", count > 1 ? words[1] : "nothing");
    printf("%s\n", LINKED);
    return fclose(out);
}
"#;

/// A program that needs no other file.
pub(crate) fn static_base() -> &'static Path {
    static BASE: OnceLock<PathBuf> = OnceLock::new();
    BASE.get_or_init(|| {
        make_once("static", &SOURCE, |base| {
            compile(base, "static", &["-static"]);
        })
    })
}

/// A program with its interpreter and its libraries, where it looks for them.
pub(crate) fn dynamic_base() -> &'static Path {
    static BASE: OnceLock<PathBuf> = OnceLock::new();
    BASE.get_or_init(|| {
        make_once("dynamic", &SOURCE, |base| {
            compile(base, "dynamic", &[]);
            for library in libraries(&base.join("app")) {
                let place = base.join(library.trim_start_matches('/'));
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                fs::copy(&library, place).unwrap();
            }
        })
    })
}

fn compile(base: &Path, linked: &str, flags: &[&str]) {
    let definition = format!("-DLINKED=\"{linked}\"");
    run_compiler(SOURCE, &base.join("app"), &[flags, &[&definition]].concat());
}

/// Whatever file the loader names, the interpreter among them.
fn libraries(program: &Path) -> Vec<String> {
    let listed = Command::new("ldd").arg(program).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let words = listed.split_ascii_whitespace();
    let files = words.filter(|word| word.starts_with('/'));
    files.map(str::to_owned).collect()
}
