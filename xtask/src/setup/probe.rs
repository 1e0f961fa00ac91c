//! Whether something is there already, seen by looking for it and not by asking the package manager: it may have come another way.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug)]
pub(super) enum Proof {
    /// A program of this name.
    Program(&'static str),
    /// A program of this name that needs no library of the machine.
    StaticProgram(&'static str),
    /// `postgres` and `initdb` of this version or a later one.
    PostgresServer { at_least: u32 },
}

impl Proof {
    pub(super) fn holds(&self) -> bool {
        match self {
            Self::Program(name) => find_program(name).is_some(),
            Self::StaticProgram(name) => find_program(name)
                .and_then(|path| fs::read(path).ok())
                .is_some_and(|bytes| is_static_program(&bytes)),
            Self::PostgresServer { at_least } => postgres_directories()
                .iter()
                .any(|directory| postgres_version(directory) >= Some(*at_least)),
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(name) => write!(f, "no program {name}"),
            Self::StaticProgram(name) => write!(f, "no statically linked program {name}"),
            Self::PostgresServer { at_least } => {
                write!(f, "no server of version {at_least} or later")
            }
        }
    }
}

pub(super) fn find_program(name: &str) -> Option<PathBuf> {
    let candidates = search_path()
        .into_iter()
        .map(|directory| directory.join(name));
    candidates.into_iter().find(|path| path.is_file())
}

/// Debian keeps the server's programs out of the search path, one directory for each version.
fn postgres_directories() -> Vec<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let versions = versions.flatten().map(|entry| entry.path().join("bin"));
    versions.chain(search_path()).collect()
}

/// The search path, with the directories that only root's has on Debian.
fn search_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = env::split_paths(&path).collect();
    directories.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    directories
}

fn postgres_version(directory: &Path) -> Option<u32> {
    if !directory.join("initdb").is_file() {
        return None;
    }
    let output = Command::new(directory.join("postgres"))
        .arg("--version")
        .output();
    major_version(&String::from_utf8_lossy(&output.ok()?.stdout))
}

/// From `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`.
fn major_version(text: &str) -> Option<u32> {
    let version = text.split_whitespace().nth(2)?;
    version
        .split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// Whether a 64-bit little-endian ELF file has no program header that names an interpreter, which is what loads libraries.
fn is_static_program(file: &[u8]) -> bool {
    const INTERPRETER: u64 = 3;
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = file.get(at..at.checked_add(bytes)?)?;
        let fold = |number, byte: &u8| (number << 8) | u64::from(*byte);
        Some(field.iter().rev().fold(0, fold))
    };
    let headers = || -> Option<Vec<u64>> {
        let start = usize::try_from(number(0x20, 8)?).ok()?;
        let size = usize::try_from(number(0x36, 2)?).ok()?;
        let count = usize::try_from(number(0x38, 2)?).ok()?;
        let kind = |index: usize| number(start.checked_add(index * size)?, 4);
        (0..count).map(kind).collect()
    };
    file.starts_with(b"\x7fELF\x02\x01")
        && headers().is_some_and(|kinds| !kinds.is_empty() && !kinds.contains(&INTERPRETER))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with program headers of these kinds and nothing else.
    fn elf(kinds: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 0x40];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[0x20] = 0x40;
        file[0x36] = 56;
        file[0x38] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            let mut header = [0; 56];
            header[0] = *kind;
            file.extend(header);
        }
        file
    }

    #[test]
    fn a_program_without_an_interpreter_is_static() {
        assert!(is_static_program(&elf(&[1, 1, 4])));
    }

    #[test]
    fn a_program_with_an_interpreter_is_not_static() {
        assert!(!is_static_program(&elf(&[6, 3, 1])));
    }

    #[test]
    fn what_is_no_whole_program_is_not_static() {
        let whole = elf(&[1, 1]);
        for bytes in [b"".as_slice(), b"#!/bin/sh\n", &whole[..0x40], &elf(&[])] {
            assert!(!is_static_program(bytes));
        }
    }

    #[test]
    fn the_version_of_postgres_is_read() {
        let text = "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)";
        assert_eq!(major_version(text), Some(15));
        assert_eq!(major_version("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_version("nonsense"), None);
    }

    #[test]
    fn a_program_is_found_by_name() {
        assert!(find_program("sh").is_some());
        assert!(find_program("no such program").is_none());
    }
}
